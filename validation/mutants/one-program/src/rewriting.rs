//! A file's text with its mutants in it.

use std::collections::HashSet;

use proc_macro2::{LineColumn, Span};
use quote::{ToTokens, quote};
use serde::Deserialize;
use syn::spanned::Spanned;
use syn::visit_mut::{self, VisitMut};
use syn::{Arm, BinOp, Block, Expr, ExprMatch, Pat, Signature, Token};

/// One change of the sources, as cargo-mutants lists it.
#[derive(Deserialize)]
pub(crate) struct Mutant {
    pub(crate) number: u32,
    pub(crate) file: String,
    genre: String,
    replacement: String,
    span: At,
}

#[derive(Deserialize)]
struct At {
    start: Position,
}

/// Both count from 1.
#[derive(Deserialize)]
struct Position {
    line: usize,
    column: usize,
}

/// The text with its mutants, and the numbers of those that cannot be chosen at run time.
pub(crate) fn rewritten(text: &str, mutants: &[Mutant]) -> syn::Result<(String, Vec<u32>)> {
    let mut file = syn::parse_file(text)?;
    let mut rewriter = Rewriter {
        mutants,
        written: HashSet::new(),
        constants: 0,
    };
    rewriter.visit_file_mut(&mut file);
    let numbers = mutants.iter().map(|mutant| mutant.number);
    let left = numbers
        .filter(|number| !rewriter.written.contains(number))
        .collect();
    Ok((file.into_token_stream().to_string(), left))
}

struct Rewriter<'a> {
    mutants: &'a [Mutant],
    written: HashSet<u32>,
    /// how many constants and `const fn` this is in
    constants: u32,
}

impl<'a> Rewriter<'a> {
    fn mutants_at(&self, genre: &str, span: Span) -> Vec<&'a Mutant> {
        let LineColumn { line, column } = span.start();
        let is_here = |mutant: &&Mutant| {
            let start = &mutant.span.start;
            mutant.genre == genre && (start.line, start.column) == (line, column + 1)
        };
        match self.constants {
            0 => self.mutants.iter().filter(is_here).collect(),
            _ => Vec::new(),
        }
    }

    /// What was written and its changes, of which the program chooses.
    fn choice(&mut self, written: &impl ToTokens, changes: &[(u32, impl ToTokens)]) -> Expr {
        self.written
            .extend(changes.iter().map(|(number, _)| number));
        let numbers = changes.iter().map(|(number, _)| number);
        let others = changes.iter().map(|(number, change)| {
            quote! { else if crate::mutating::is(#number) { #change } }
        });
        // parentheses: at the beginning of a statement, `if` would end it
        parsed(quote! {
            (if #(crate::mutating::chosen() != #numbers)&&* { #written } #(#others)* else { crate::mutating::end() })
        })
    }

    /// The changes of this expression alone, without those inside it.
    fn changes(&self, expression: &Expr) -> Vec<(u32, Expr)> {
        match expression {
            Expr::Binary(binary) if !has_let(&binary.left) && !has_let(&binary.right) => {
                let changed = |mutant: &Mutant| {
                    let mut changed = binary.clone();
                    changed.op = syn::parse_str::<BinOp>(&mutant.replacement).ok()?;
                    Some((mutant.number, Expr::Binary(changed)))
                };
                let here = self.mutants_at("BinaryOperator", binary.op.span());
                here.into_iter().filter_map(changed).collect()
            }
            Expr::Unary(unary) => {
                let here = self.mutants_at("UnaryOperator", unary.op.span());
                let changed = |mutant: &Mutant| (mutant.number, (*unary.expr).clone());
                here.into_iter().map(changed).collect()
            }
            Expr::Struct(fields) => {
                let without = |index: usize| {
                    let mut changed = fields.clone();
                    changed.fields = fields
                        .fields
                        .iter()
                        .cloned()
                        .enumerate()
                        .filter_map(|(at, field)| (at != index).then_some(field))
                        .collect();
                    // a comma before `..`
                    if !changed.fields.is_empty() {
                        changed.fields.push_punct(Default::default());
                    }
                    Expr::Struct(changed)
                };
                let of_field = |(index, field): (usize, &syn::FieldValue)| {
                    let here = self.mutants_at("StructField", field.span());
                    here.into_iter().map(move |mutant| (mutant.number, index))
                };
                fields
                    .fields
                    .iter()
                    .enumerate()
                    .flat_map(of_field)
                    .map(|(number, index)| (number, without(index)))
                    .collect()
            }
            _ => Vec::new(),
        }
    }

    fn function(
        &mut self,
        signature: &Signature,
        block: &mut Block,
        inside: impl FnOnce(&mut Self, &mut Block),
    ) {
        let is_const = u32::from(signature.constness.is_some());
        self.constants += is_const;
        let start = block.stmts.first().map(Spanned::span);
        inside(self, block);
        let is_hidden = matches!(&signature.output, syn::ReturnType::Type(_, of) if matches!(**of, syn::Type::ImplTrait(_)));
        if let (Some(start), false) = (start, is_hidden) {
            let values: Vec<(u32, Expr)> = self
                .mutants_at("FnValue", start)
                .into_iter()
                .filter_map(|mutant| {
                    Some((mutant.number, syn::parse_str(&mutant.replacement).ok()?))
                })
                .collect();
            if !values.is_empty() {
                let choice = self.choice(&block, &values);
                *block = parsed(quote! { { #choice } });
            }
        }
        self.constants -= is_const;
    }

    fn constant(&mut self, inside: impl FnOnce(&mut Self)) {
        self.constants += 1;
        inside(self);
        self.constants -= 1;
    }
}

impl VisitMut for Rewriter<'_> {
    fn visit_expr_mut(&mut self, expression: &mut Expr) {
        let changes = self.changes(expression);
        visit_mut::visit_expr_mut(self, expression);
        if !changes.is_empty() {
            *expression = self.choice(expression, &changes);
        }
    }

    fn visit_arm_mut(&mut self, arm: &mut Arm) {
        let guard = arm.guard.as_ref().map(|(_, guard)| &**guard);
        let values: Vec<(u32, Expr)> = guard
            .filter(|guard| !has_let(guard))
            .map_or(Vec::new(), |guard| {
                self.mutants_at("MatchArmGuard", guard.span())
            })
            .into_iter()
            .filter_map(|mutant| Some((mutant.number, syn::parse_str(&mutant.replacement).ok()?)))
            .collect();
        visit_mut::visit_arm_mut(self, arm);
        if let (Some((_, guard)), false) = (&mut arm.guard, values.is_empty()) {
            **guard = self.choice(guard, &values);
        }
    }

    /// Without an arm that matches all, the compiler wants the deleted one.
    fn visit_expr_match_mut(&mut self, expression: &mut ExprMatch) {
        let starts: Vec<Span> = expression.arms.iter().map(|arm| arm.pat.span()).collect();
        visit_mut::visit_expr_match_mut(self, expression);
        let matches_all = |arm: &Arm| matches!(arm.pat, Pat::Wild(_)) && arm.guard.is_none();
        if !expression.arms.last().is_some_and(matches_all) {
            return;
        }
        for (arm, start) in expression.arms.iter_mut().zip(starts) {
            for mutant in self.mutants_at("MatchArm", start) {
                let always = || parsed(quote! { true });
                let guard = arm.guard.take().map_or_else(always, |(_, guard)| *guard);
                let never: Expr = parsed(quote! { false });
                let guard = self.choice(&guard, &[(mutant.number, never)]);
                arm.guard = Some((Token![if](start), Box::new(guard)));
            }
        }
    }

    fn visit_item_fn_mut(&mut self, item: &mut syn::ItemFn) {
        self.function(&item.sig, &mut item.block, Self::visit_block_mut);
    }

    fn visit_impl_item_fn_mut(&mut self, item: &mut syn::ImplItemFn) {
        self.function(&item.sig, &mut item.block, Self::visit_block_mut);
    }

    fn visit_trait_item_fn_mut(&mut self, item: &mut syn::TraitItemFn) {
        if let Some(block) = &mut item.default {
            self.function(&item.sig, block, Self::visit_block_mut);
        }
    }

    fn visit_item_const_mut(&mut self, item: &mut syn::ItemConst) {
        self.constant(|inside| visit_mut::visit_item_const_mut(inside, item));
    }

    fn visit_item_static_mut(&mut self, item: &mut syn::ItemStatic) {
        self.constant(|inside| visit_mut::visit_item_static_mut(inside, item));
    }

    fn visit_impl_item_const_mut(&mut self, item: &mut syn::ImplItemConst) {
        self.constant(|inside| visit_mut::visit_impl_item_const_mut(inside, item));
    }

    fn visit_trait_item_const_mut(&mut self, item: &mut syn::TraitItemConst) {
        self.constant(|inside| visit_mut::visit_trait_item_const_mut(inside, item));
    }

    /// Types hold lengths of arrays and values of generics.
    fn visit_type_mut(&mut self, of: &mut syn::Type) {
        self.constant(|inside| visit_mut::visit_type_mut(inside, of));
    }
}

/// Such a condition must stay as it is in its `if`.
fn has_let(expression: &Expr) -> bool {
    match expression {
        Expr::Let(_) => true,
        Expr::Binary(binary) => has_let(&binary.left) || has_let(&binary.right),
        _ => false,
    }
}

fn parsed<T: syn::parse::Parse>(tokens: proc_macro2::TokenStream) -> T {
    syn::parse2(tokens).expect("what is written here is Rust")
}

#[cfg(test)]
mod tests;
