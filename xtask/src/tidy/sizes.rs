use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use super::Finding;
use super::exceptions::Exceptions;
use super::tree::{Tree, is_test_only};

pub const FILE_LINES: usize = 500;
pub const FUNCTION_LINES: usize = 70;

const PROSE: &[&str] = &[".md", ".toml", ".sql"];
const WHY_FILE: &str = "what is longer holds more than one thing: split it";
const WHY_FUNCTION: &str = "a function is read at one glance: name its parts";

pub fn check(tree: &Tree, exceptions: &Exceptions) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files.iter().filter(|f| !f.is_test && !PROSE.iter().any(|e| f.path.ends_with(e))) {
        let lines = file.text.lines().count();
        if lines > FILE_LINES && !exceptions.allow("file-length", &file.path) {
            let what = format!("{lines} lines, {FILE_LINES} are allowed (file-length)");
            findings.push(Finding::new(&file.path, FILE_LINES + 1, what, WHY_FILE));
        }
        let Some(syntax) = file.syntax() else { continue };
        let mut functions = Functions(Vec::new());
        functions.visit_file(syntax);
        for (name, line, lines) in functions.0 {
            let place = format!("{}::{name}", file.path);
            if lines > FUNCTION_LINES && !exceptions.allow("function-length", &place) {
                let what =
                    format!("fn {name} has {lines} lines, {FUNCTION_LINES} are allowed (function-length)");
                findings.push(Finding::new(&file.path, line, what, WHY_FUNCTION));
            }
        }
    }
    findings
}

/// Collects name, line and length of each function outside tests, from `fn` to the closing brace.
struct Functions(Vec<(String, usize, usize)>);

impl Functions {
    fn add(&mut self, signature: &syn::Signature, body: &syn::Block) {
        let first = signature.fn_token.span().start().line;
        let last = body.span().end().line;
        self.0.push((signature.ident.to_string(), first, last - first + 1));
    }
}

impl<'ast> Visit<'ast> for Functions {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !is_test_only(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        if !is_test_only(&function.attrs) {
            self.add(&function.sig, &function.block);
            visit::visit_item_fn(self, function);
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        if !is_test_only(&function.attrs) {
            self.add(&function.sig, &function.block);
            visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        if let Some(body) = &function.default {
            self.add(&function.sig, body);
        }
        visit::visit_trait_item_fn(self, function);
    }
}
