//! Writes changes into a source file, each behind a switch.

use std::{error::Error, ops::Range};

use syn::{
    Block, ExprAsync, ExprClosure, ImplItemFn, ItemFn, Signature, TraitItemFn,
    visit::{self, Visit},
};

use super::Operator;

/// One change: its number, the text that it replaces, and what with.
struct Change<'a> {
    number: usize,
    replaced: Range<usize>,
    by: &'a str,
}

/// The bodies of functions, closures and `async` blocks.
#[derive(Default)]
struct Bodies {
    bodies: Vec<Range<usize>>,
    /// The words `const` before functions, each with the body that follows.
    consts: Vec<(Range<usize>, Range<usize>)>,
}

impl Bodies {
    fn add(&mut self, block: &Block) -> Range<usize> {
        let braces = &block.brace_token.span;
        let (open, close) = (braces.open().byte_range(), braces.close().byte_range());
        self.bodies.push(open.start..close.end);
        open.start..close.end
    }

    fn add_function(&mut self, signature: &Signature, block: &Block) {
        let body = self.add(block);
        let word = signature.constness.as_ref();
        (self.consts).extend(word.map(|word| (word.span.byte_range(), body)));
    }
}

impl<'ast> Visit<'ast> for Bodies {
    fn visit_item_fn(&mut self, function: &'ast ItemFn) {
        self.add_function(&function.sig, &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        self.add_function(&function.sig, &function.block);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast TraitItemFn) {
        if let Some(block) = &function.default {
            self.add_function(&function.sig, block);
        }
        visit::visit_trait_item_fn(self, function);
    }

    fn visit_expr_async(&mut self, block: &'ast ExprAsync) {
        self.add(&block.block);
        visit::visit_expr_async(self, block);
    }

    fn visit_expr_closure(&mut self, closure: &'ast ExprClosure) {
        if let syn::Expr::Block(body) = &*closure.body {
            self.add(&body.block);
        }
        visit::visit_expr_closure(self, closure);
    }
}

/// The source with these changes, each with its number. Of a body that contains changes, the copy has
/// the body as it was and once more for each change, and the switch decides.
///
/// # Errors
/// A source that is no Rust; a change of what stands in no body.
pub fn switched(source: &str, operators: &[(usize, &Operator)]) -> Result<String, Box<dyn Error>> {
    let mut found = Bodies::default();
    found.visit_file(&syn::parse_file(source)?);
    let mut bodies = found.bodies;
    // An outer body before those that it contains.
    bodies.sort_unstable_by_key(|body| (body.start, usize::MAX - body.end));
    let mut changes: Vec<Vec<Change<'_>>> = bodies.iter().map(|_| Vec::new()).collect();
    for &(number, operator) in operators {
        let place = |place: super::list::Place| {
            (place.offset(source)).ok_or_else(|| format!("{}: not in the file", operator.name))
        };
        let replaced = place(operator.span.start)?..place(operator.span.end)?;
        let innermost = (bodies.iter())
            .rposition(|body| body.start <= replaced.start && replaced.end <= body.end)
            .ok_or_else(|| format!("{}: in no function", operator.name))?;
        changes[innermost].push(Change {
            number,
            replaced,
            by: &operator.replacement,
        });
    }
    let mut text = String::new();
    let mut done = 0;
    let switched = Switched {
        source,
        bodies: &bodies,
        changes: &changes,
    };
    for (word, body) in found.consts {
        let all = changes.iter().flatten();
        if !all
            .map(|one| one.replaced.start)
            .any(|at| body.contains(&at))
        {
            continue;
        }
        // What asks a switch is not constant.
        text += &switched.between(done..word.start);
        done = word.end;
    }
    Ok(text + &switched.between(done..source.len()))
}

struct Switched<'a> {
    source: &'a str,
    bodies: &'a [Range<usize>],
    changes: &'a [Vec<Change<'a>>],
}

impl Switched<'_> {
    /// A part of the source, in which bodies that contain changes are switched.
    fn between(&self, part: Range<usize>) -> String {
        let mut text = String::new();
        let mut done = part.start;
        for (body, changes) in self.bodies.iter().zip(self.changes) {
            if body.start < done || body.end > part.end || changes.is_empty() {
                continue;
            }
            text += &self.source[done..body.start];
            text += &self.body(body, changes);
            done = body.end;
        }
        text + &self.source[done..part.end]
    }

    /// The body as it is comes first: its type is that of all others.
    fn body(&self, body: &Range<usize>, changes: &[Change<'_>]) -> String {
        let numbers: Vec<String> = changes.iter().map(|one| one.number.to_string()).collect();
        let whole = self.between(body.start + 1..body.end - 1);
        let mut text = format!(
            "{{ match crate::planted::on() {{ unchanged if ![{}].contains(&unchanged) => {{{whole}}}",
            numbers.join(", ")
        );
        for Change {
            number,
            replaced,
            by,
        } in changes
        {
            let (before, after) = (
                &self.source[body.start..replaced.start],
                &self.source[replaced.end..body.end],
            );
            text += &format!("\n/*{number}<*/ {number} => {before}{by}{after} /*>{number}*/");
        }
        text + "\n_ => unreachable!() } }"
    }
}

#[cfg(test)]
mod tests;
