//! Mutants are written into a text, and chosen at run time.

use serde_json::json;

use super::{Mutant, rewritten};

/// A mutant at a line and a column, both from 1 on.
fn mutant(number: u32, genre: &str, (line, column): (usize, usize), replacement: &str) -> Mutant {
    let start = json!({ "line": line, "column": column });
    let all = json!({
        "number": number, "file": "", "genre": genre, "replacement": replacement, "span": { "start": start },
    });
    serde_json::from_value(all).expect("all fields are here")
}

/// Compares without regard to blanks.
fn assert_written(text: &str, mutants: &[Mutant], expected: &str) {
    let without_blanks = |text: &str| text.split_whitespace().collect::<String>();
    let (found, left) = rewritten(text, mutants).expect("it is Rust");
    let expected = expected
        .replace("chosen()", "crate::mutating::chosen()")
        .replace("is(", "crate::mutating::is(")
        .replace("end()", "crate::mutating::end()");
    assert_eq!(without_blanks(&found), without_blanks(&expected));
    assert_eq!(left, [0; 0]);
}

#[test]
fn a_binary_operator_has_its_changes_behind_it() {
    let mutants = [
        mutant(1, "BinaryOperator", (1, 28), "=="),
        mutant(2, "BinaryOperator", (1, 28), ">"),
    ];
    assert_written(
        "fn f(a: u8) -> bool { if a < 2 { 1 == 1 } else { false } }",
        &mutants,
        "fn f(a: u8) -> bool { if (if chosen() != 1u32 && chosen() != 2u32 { a < 2 } else if is(1u32) { a == 2 }
            else if is(2u32) { a > 2 } else { end() }) { 1 == 1 } else { false } }",
    );
}

#[test]
fn a_change_of_the_outer_operator_has_the_inner_one_unchanged() {
    let mutants = [
        mutant(1, "BinaryOperator", (1, 12), "-"),
        mutant(2, "BinaryOperator", (1, 16), "/"),
    ];
    assert_written(
        "fn f() { a + b * c; }",
        &mutants,
        "fn f() { (if chosen() != 1u32 { a + (if chosen() != 2u32 { b * c } else if is(2u32) { b / c } else { end() }) }
            else if is(1u32) { a - b * c } else { end() }); }",
    );
}

#[test]
fn a_unary_operator_is_deleted() {
    assert_written(
        "fn f() { g(!a) }",
        &[mutant(3, "UnaryOperator", (1, 12), "")],
        "fn f() { g((if chosen() != 3u32 { !a } else if is(3u32) { a } else { end() })) }",
    );
}

#[test]
fn a_guard_has_another_value_and_a_deleted_arm_never_matches() {
    let text = "fn f() { match a { 1 if b => c, 2 => d, _ => e } }";
    let guard = "fn f() { match a { 1 if (if chosen() != 1u32 { b } else if is(1u32) { true } else { end() }) => c,
        2 => d, _ => e } }";
    assert_written(text, &[mutant(1, "MatchArmGuard", (1, 25), "true")], guard);
    let arm = "fn f() { match a { 1 if b => c,
        2 if (if chosen() != 1u32 { true } else if is(1u32) { false } else { end() }) => d, _ => e } }";
    assert_written(text, &[mutant(1, "MatchArm", (1, 33), "")], arm);
}

#[test]
fn a_function_returns_another_value() {
    assert_written(
        "fn f() -> u8 { let a = 3; a }",
        &[mutant(1, "FnValue", (1, 16), "7")],
        "fn f() -> u8 { (if chosen() != 1u32 { { let a = 3; a } } else if is(1u32) { 7 } else { end() }) }",
    );
}

#[test]
fn a_field_is_taken_from_the_base() {
    assert_written(
        "fn f() { A { b: 1, c: 2, ..d } }",
        &[mutant(1, "StructField", (1, 20), "")],
        "fn f() { (if chosen() != 1u32 { A { b: 1, c: 2, ..d } } else if is(1u32) { A { b: 1, ..d } }
            else { end() }) }",
    );
}

#[test]
fn constants_and_conditions_with_let_are_left() {
    let text = "const A: u8 = 1 + 2; const fn f() { 1 + 2 }\nfn g() { if a && let b = c { } }";
    let mutants = [
        mutant(1, "BinaryOperator", (1, 17), "-"),
        mutant(2, "BinaryOperator", (1, 39), "-"),
        mutant(3, "BinaryOperator", (2, 15), "||"),
    ];
    let (found, left) = rewritten(text, &mutants).expect("it is Rust");
    assert_eq!(left, [1, 2, 3]);
    assert!(!found.contains("mutating"), "{found}");
}
