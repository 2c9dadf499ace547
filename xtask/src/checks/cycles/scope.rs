//! The names that each module knows, and where the item behind a path is defined.

use super::tree::{ModuleId, ModuleTree, ROOT};
use std::collections::{BTreeMap, BTreeSet};
use syn::{Item, ItemUse, UseTree, Visibility};

/// A path as it is written, from its first segment on.
pub(super) type Segments = Vec<String>;

/// What a name means in a module.
#[derive(Clone, Debug)]
enum Binding {
    /// An item that the module defines.
    Defined,
    /// A module that it declares.
    Module(ModuleId),
    /// What a `use` declaration names.
    Import(Segments),
}

/// One name of a `use` declaration.
#[derive(Debug)]
pub(super) struct ImportedName {
    /// The path that is imported; a glob is the path of what it opens.
    pub(super) path: Segments,
    /// The name that it has here, or `None` for a glob.
    pub(super) alias: Option<String>,
    /// Where it is.
    pub(super) line: usize,
}

/// The names of one module.
#[derive(Debug, Default)]
struct Scope {
    names: BTreeMap<String, Vec<Binding>>,
    globs: Vec<Segments>,
}

/// The names of all modules of a crate.
pub(super) struct Scopes<'tree> {
    tree: &'tree ModuleTree,
    scopes: Vec<Scope>,
    /// Macros by their names, which are textual: no path leads to most of them.
    macros: BTreeMap<String, ModuleId>,
}

/// What a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Target {
    /// A module itself.
    Module(ModuleId),
    /// An item that the module defines, or a variant or an associated item of one.
    ItemOf(ModuleId),
}

impl<'tree> Scopes<'tree> {
    /// Collects the names that the modules of `tree` define, declare and import.
    pub(super) fn of(tree: &'tree ModuleTree) -> Self {
        let scopes = tree.modules().map(|_| Scope::default()).collect();
        let mut all = Self { tree, scopes, macros: BTreeMap::new() };
        for (id, module) in tree.modules() {
            if id != ROOT {
                all.bind(module.parent, module.name.clone(), Binding::Module(id));
            }
            for item in &module.items {
                all.bind_item(id, item);
            }
        }
        all
    }

    /// Adds the names of a `use` declaration inside a function.
    pub(super) fn bind_import(&mut self, module: ModuleId, item: &ItemUse) {
        for import in imports(item) {
            match import.alias {
                Some(alias) => self.bind(module, alias, Binding::Import(import.path)),
                None => self.scopes[module].globs.push(import.path),
            }
        }
    }

    /// What `path`, written in `module`, leads to; nothing for what another crate defines.
    pub(super) fn resolve(&self, module: ModuleId, path: &[String]) -> BTreeSet<Target> {
        let mut search = Search::among(self);
        search.follow(module, path);
        search.found
    }

    /// The module that defines the macro `name`, if the crate does.
    pub(super) fn macro_named(&self, name: &str) -> Option<ModuleId> {
        self.macros.get(name).copied()
    }

    fn bind(&mut self, module: ModuleId, name: String, binding: Binding) {
        self.scopes[module].names.entry(name).or_default().push(binding);
    }

    fn bind_item(&mut self, id: ModuleId, item: &Item) {
        let name = match item {
            Item::Use(item) => return self.bind_import(id, item),
            Item::Macro(item) => {
                let Some(name) = &item.ident else { return };
                self.macros.insert(name.to_string(), id);
                name
            }
            Item::Const(item) => &item.ident,
            Item::Enum(item) => &item.ident,
            Item::Fn(item) => &item.sig.ident,
            Item::Static(item) => &item.ident,
            Item::Struct(item) => &item.ident,
            Item::Trait(item) => &item.ident,
            Item::Type(item) => &item.ident,
            Item::Union(item) => &item.ident,
            // The others have no name.
            _ => return,
        };
        self.bind(id, name.to_string(), Binding::Defined);
    }
}

/// The way of one path through the names of the modules.
struct Search<'a> {
    scopes: &'a Scopes<'a>,
    /// Paths that the search has followed already: imports may go round in circles.
    followed: BTreeSet<(ModuleId, Segments)>,
    /// Names that it has looked for behind globs.
    opened: BTreeSet<(ModuleId, String)>,
    found: BTreeSet<Target>,
}

impl<'a> Search<'a> {
    fn among(scopes: &'a Scopes<'a>) -> Self {
        Self { scopes, followed: BTreeSet::new(), opened: BTreeSet::new(), found: BTreeSet::new() }
    }

    /// Follows `path` as it is written in `module`.
    fn follow(&mut self, module: ModuleId, path: &[String]) {
        if !self.followed.insert((module, path.to_vec())) {
            return;
        }
        let Some((first, rest)) = path.split_first() else {
            self.found.insert(Target::Module(module));
            return;
        };
        match first.as_str() {
            "crate" | "$crate" => self.follow_inside(ROOT, rest),
            "self" => self.follow_inside(module, rest),
            "super" => self.follow_inside(self.scopes.tree.module(module).parent, rest),
            _ => self.look_up(module, first, rest),
        }
    }

    /// Goes on with `path` in `module`. A name that it does not know is one that a macro defines there.
    fn follow_inside(&mut self, module: ModuleId, path: &[String]) {
        let Some((first, rest)) = path.split_first() else {
            self.found.insert(Target::Module(module));
            return;
        };
        if first == "super" {
            return self.follow_inside(self.scopes.tree.module(module).parent, rest);
        }
        let before = self.found.len();
        self.look_up(module, first, rest);
        if self.found.len() == before && !self.scopes.scopes[module].names.contains_key(first) {
            self.found.insert(Target::ItemOf(module));
        }
    }

    /// Goes on with `rest` behind `name`, which `module` knows or does not.
    fn look_up(&mut self, module: ModuleId, name: &str, rest: &[String]) {
        let scopes = self.scopes;
        let scope = &scopes.scopes[module];
        let Some(bindings) = scope.names.get(name) else { return self.look_behind_globs(module, name, rest) };
        for binding in bindings {
            match binding {
                Binding::Defined => {
                    self.found.insert(Target::ItemOf(module));
                }
                Binding::Module(child) => self.follow_inside(*child, rest),
                Binding::Import(path) if path[0] == name => self.follow_namesake(bindings, path, rest),
                Binding::Import(path) => self.follow(module, &joined(path, rest)),
            }
        }
    }

    /// Follows an import whose path begins with the name that it defines: of a child module, or of a crate.
    fn follow_namesake(&mut self, bindings: &[Binding], path: &[String], rest: &[String]) {
        for binding in bindings {
            if let Binding::Module(child) = binding {
                self.follow_inside(*child, &joined(&path[1..], rest));
            }
        }
    }

    fn look_behind_globs(&mut self, module: ModuleId, name: &str, rest: &[String]) {
        if !self.opened.insert((module, name.to_owned())) {
            return;
        }
        let scopes = self.scopes;
        for glob in &scopes.scopes[module].globs {
            // A glob's own path is not behind the glob.
            let mut path = Search { opened: self.opened.clone(), ..Search::among(scopes) };
            path.follow(module, glob);
            for target in path.found {
                match target {
                    Target::Module(opened) => self.look_up(opened, name, rest),
                    // Variants of an enumeration: the glob itself is the use.
                    Target::ItemOf(_) => {}
                }
            }
        }
    }
}

fn joined(path: &[String], rest: &[String]) -> Segments {
    path.iter().chain(rest).cloned().collect()
}

/// The names of a `use` declaration.
pub(super) fn imports(item: &ItemUse) -> Vec<ImportedName> {
    let mut names = Vec::new();
    if item.leading_colon.is_none() {
        flatten(&item.tree, &mut Vec::new(), &mut names);
    }
    names
}

/// Whether the declaration is private, so that it serves its module alone.
pub(super) fn is_private(item: &ItemUse) -> bool {
    matches!(item.vis, Visibility::Inherited)
}

fn flatten(tree: &UseTree, prefix: &mut Segments, names: &mut Vec<ImportedName>) {
    match tree {
        UseTree::Path(path) => {
            prefix.push(path.ident.to_string());
            flatten(&path.tree, prefix, names);
            prefix.pop();
        }
        UseTree::Name(name) => names.push(leaf(prefix, &name.ident, &name.ident)),
        UseTree::Rename(rename) => names.push(leaf(prefix, &rename.ident, &rename.rename)),
        UseTree::Glob(glob) => {
            let line = glob.star_token.spans[0].start().line;
            names.push(ImportedName { path: prefix.clone(), alias: None, line });
        }
        UseTree::Group(group) => group.items.iter().for_each(|tree| flatten(tree, prefix, names)),
    }
}

fn leaf(prefix: &Segments, name: &syn::Ident, alias: &syn::Ident) -> ImportedName {
    let mut path = prefix.clone();
    let mut alias = alias.to_string();
    if name == "self" {
        if alias == "self" {
            alias = prefix.last().cloned().unwrap_or_default();
        }
    } else {
        path.push(name.to_string());
    }
    ImportedName { path, alias: Some(alias), line: name.span().start().line }
}
