//! The paths that a module's code names.

use super::scope::Segments;
use super::tree::is_test;
use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemUse, Visibility};

/// A path that code names.
#[derive(Debug)]
pub(super) struct Mention {
    /// Its segments.
    pub(super) path: Segments,
    /// Whether it is the name of a macro that is called.
    pub(super) is_macro: bool,
    /// Where it is.
    pub(super) line: usize,
}

/// What a module's code names.
#[derive(Default)]
pub(super) struct Mentions<'tree> {
    /// The paths, in the order of the text.
    pub(super) paths: Vec<Mention>,
    /// `use` declarations inside functions.
    pub(super) inner_uses: Vec<&'tree ItemUse>,
}

impl<'tree> Mentions<'tree> {
    /// What `items` name.
    pub(super) fn of(items: &'tree [Item]) -> Self {
        let mut mentions = Self::default();
        for item in items.iter().filter(|item| !matches!(item, Item::Use(_))) {
            mentions.visit_item(item);
        }
        mentions
    }

    fn add(&mut self, path: Segments, is_macro: bool, line: usize) {
        self.paths.push(Mention { path, is_macro, line });
    }

    /// Finds the paths among tokens that only a macro understands. A single name counts where it can be a type, a constant or a call.
    fn scan(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let is_punct =
            |at: usize, mark: char| matches!(tokens.get(at), Some(TokenTree::Punct(p)) if p.as_char() == mark);
        let is_path_mark = |at: usize| is_punct(at, ':') && is_punct(at + 1, ':');
        let mut at = 0;
        while at < tokens.len() {
            match &tokens[at] {
                TokenTree::Group(group) => self.scan(group.stream()),
                TokenTree::Ident(first) => {
                    let is_member = at > 0 && is_punct(at - 1, '.') && !(at > 1 && is_punct(at - 2, '.'));
                    let dollar = if at > 0 && is_punct(at - 1, '$') { "$" } else { "" };
                    let mut path = vec![format!("{dollar}{first}")];
                    let line = first.span().start().line;
                    while is_path_mark(at + 1) {
                        let Some(TokenTree::Ident(next)) = tokens.get(at + 3) else { break };
                        path.push(next.to_string());
                        at += 3;
                    }
                    let is_macro = is_punct(at + 1, '!');
                    let is_call = matches!(tokens.get(at + 1), Some(TokenTree::Group(_)));
                    let is_capital = path[0].starts_with(char::is_uppercase);
                    if !is_member && (path.len() > 1 || is_macro || is_call || is_capital) {
                        self.add(path, is_macro, line);
                    }
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
            at += 1;
        }
    }
}

impl<'ast> Visit<'ast> for Mentions<'ast> {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() {
            let segments: Segments = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
            let line = path.segments[0].ident.span().start().line;
            self.add(segments, false, line);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        let segments: Segments = call.path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        let line = call.path.segments[0].ident.span().start().line;
        self.add(segments, true, line);
        self.scan(call.tokens.clone());
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        self.inner_uses.push(item);
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if !is_test(&item.attrs) {
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !is_test(&item.attrs) {
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        if !is_test(&field.attrs) {
            visit::visit_field(self, field);
        }
    }

    fn visit_attribute(&mut self, _: &'ast Attribute) {}

    fn visit_visibility(&mut self, _: &'ast Visibility) {}
}
