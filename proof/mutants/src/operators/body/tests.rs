use crate::operators::list::{Operator, Place, Span};

use super::*;

/// A change of what stands between `from` and `to` in the source.
fn change(source: &str, old: &str, replacement: &str) -> Operator {
    let place = |offset: usize| {
        let line = source[..offset].matches('\n').count();
        let column = source[..offset]
            .rsplit('\n')
            .next()
            .unwrap()
            .chars()
            .count();
        Place {
            line: line + 1,
            column: column + 1,
        }
    };
    let start = source.find(old).unwrap();
    Operator {
        name: format!("{old} to {replacement}"),
        file: "a.rs".into(),
        span: Span {
            start: place(start),
            end: place(start + old.len()),
        },
        replacement: replacement.to_owned(),
        function: None,
    }
}

fn squeezed(text: &str) -> String {
    text.split_whitespace().collect()
}

#[test]
fn body_stands_there_once_more_for_each_change() {
    let source = "// é\nconst fn f(a: u8) -> bool {\n    a > 1 && a < 9\n}\nconst C: u8 = 1;";
    let changes = [change(source, "> 1", ">= 1"), change(source, "&&", "||")];
    let text = switched(source, &[(4, &changes[0]), (7, &changes[1])]).unwrap();
    let expected = "// é\n fn f(a: u8) -> bool { match crate::planted::on() {
        unchanged if ![4, 7].contains(&unchanged) => { a > 1 && a < 9 }
        /*4<*/ 4 => { a >= 1 && a < 9 } /*>4*/
        /*7<*/ 7 => { a > 1 || a < 9 } /*>7*/
        _ => unreachable!() } }
        const C: u8 = 1;";
    assert_eq!(squeezed(&text), squeezed(expected));
}

#[test]
fn change_is_made_in_the_innermost_body() {
    let source = "fn f() -> impl Future { g(1 + 1); async move { 2 + 2 } }";
    let changes = [change(source, "1 + 1", "0"), change(source, "2 + 2", "5")];
    let text = switched(source, &[(0, &changes[0]), (1, &changes[1])]).unwrap();
    let inner = "{ match crate::planted::on() { unchanged if ![1].contains(&unchanged) => { 2 + 2 }
        /*1<*/ 1 => { 5 } /*>1*/ _ => unreachable!() } }";
    let expected = format!(
        "fn f() -> impl Future {{ match crate::planted::on() {{
        unchanged if ![0].contains(&unchanged) => {{ g(1 + 1); async move {inner} }}
        /*0<*/ 0 => {{ g(0); async move {{ 2 + 2 }} }} /*>0*/
        _ => unreachable!() }} }}"
    );
    assert_eq!(squeezed(&text), squeezed(&expected));
}

#[test]
fn change_outside_of_all_functions_is_refused() {
    let source = "const C: u8 = 1 + 1;";
    let outside = change(source, "+", "-");
    let refused = switched(source, &[(0, &outside)]).unwrap_err();
    assert!(refused.to_string().contains("in no function"), "{refused}");
}
