//! The modules of a crate, read from its files. Test code is left out.

use crate::failure::Failure;
use std::path::{Path, PathBuf};
use syn::{Attribute, File, Item, ItemMod};

/// The index of a module in its [`ModuleTree`].
pub(crate) type ModuleId = usize;

/// The crate root.
pub(super) const ROOT: ModuleId = 0;

/// One module: a file, or an inline module in one.
pub(crate) struct Module {
    /// Its name in its parent; that of the crate for the root.
    pub(super) name: String,
    /// The module that declares it; the root is its own.
    pub(super) parent: ModuleId,
    /// The module whose file holds it: itself, unless it is inline.
    pub(super) file_module: ModuleId,
    /// The file that holds it.
    pub(crate) file: PathBuf,
    /// Its items, without those that only tests have.
    pub(crate) items: Vec<Item>,
}

/// All modules of one crate.
pub(crate) struct ModuleTree {
    modules: Vec<Module>,
}

impl ModuleTree {
    /// Reads the crate called `name` whose root is the file `root`.
    pub(crate) fn read(name: &str, root: &Path) -> Result<Self, Failure> {
        let mut tree = Self { modules: Vec::new() };
        let items = parse(root)?.items;
        let directory = root.parent().expect("a file lies in a directory").to_owned();
        let module =
            Module { name: name.to_owned(), parent: ROOT, file_module: ROOT, file: root.to_owned(), items: Vec::new() };
        tree.add(module, items, &directory)?;
        Ok(tree)
    }

    /// The module `id`.
    pub(super) fn module(&self, id: ModuleId) -> &Module {
        &self.modules[id]
    }

    /// Every module, with its index.
    pub(crate) fn modules(&self) -> impl Iterator<Item = (ModuleId, &Module)> {
        self.modules.iter().enumerate()
    }

    /// The module's path, such as `mmu::tlb::l1`.
    pub(super) fn path(&self, id: ModuleId) -> String {
        let module = self.module(id);
        match id {
            ROOT => module.name.clone(),
            _ => format!("{}::{}", self.path(module.parent), module.name),
        }
    }

    /// Adds `module` with `items` and the modules that they declare, whose files lie in `children`.
    fn add(&mut self, module: Module, items: Vec<Item>, children: &Path) -> Result<(), Failure> {
        let id = self.modules.len();
        let (file_module, file) = (module.file_module, module.file.clone());
        self.modules.push(module);
        let (modules, items): (Vec<Item>, Vec<Item>) =
            items.into_iter().filter(|item| !is_test(attributes(item))).partition(|item| matches!(item, Item::Mod(_)));
        self.modules[id].items = items;
        for item in modules {
            let Item::Mod(declaration) = item else { continue };
            let name = declaration.ident.to_string();
            let below = children.join(&name);
            let child =
                |file_module, file| Module { name: name.clone(), parent: id, file_module, file, items: Vec::new() };
            if let Some((_, items)) = declaration.content {
                self.add(child(file_module, file.clone()), items, &below)?;
            } else {
                let file = file_of(&declaration, &file, children)?;
                let items = parse(&file)?.items;
                let is_directory = file.file_stem().is_some_and(|stem| stem == "mod");
                let below = if is_directory { file.with_file_name("") } else { below };
                self.add(child(self.modules.len(), file), items, &below)?;
            }
        }
        Ok(())
    }
}

/// The file of the module that `declaration` declares in `declaring`, where files of children lie in `children`.
fn file_of(declaration: &ItemMod, declaring: &Path, children: &Path) -> Result<PathBuf, Failure> {
    let name = declaration.ident.to_string();
    let candidates = match given_path(&declaration.attrs) {
        Some(path) => vec![declaring.with_file_name(path)],
        None => vec![children.join(format!("{name}.rs")), children.join(&name).join("mod.rs")],
    };
    let missing = || format!("{}: no file of the module `{name}`", declaring.display());
    candidates.into_iter().find(|file| file.is_file()).ok_or_else(missing)
}

/// What `#[path = "…"]` says.
fn given_path(attributes: &[Attribute]) -> Option<String> {
    attributes.iter().find_map(|attribute| match &attribute.meta {
        syn::Meta::NameValue(pair) if pair.path.is_ident("path") => match &pair.value {
            syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    })
}

fn parse(file: &Path) -> Result<File, Failure> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    syn::parse_file(&text).map_err(|error| format!("{}:{}: {error}", file.display(), error.span().start().line))
}

/// Whether the attributes say that only tests have the item.
pub(super) fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let only_in_tests = |list: &syn::MetaList| list.path.is_ident("cfg") && list.tokens.to_string() == "test";
        matches!(&attribute.meta, syn::Meta::List(list) if only_in_tests(list))
    })
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        // The other items are not in use, or have no form for tests alone; `Item` may grow.
        _ => &[],
    }
}
