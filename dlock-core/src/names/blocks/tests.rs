use super::*;

#[test]
fn block_doubles_while_terms_are_short() {
    let mut size = BlockSize::default();
    let mut sizes = Vec::new();
    for _ in 0..5 {
        sizes.push(size.tokens().get());
        size = size.after_used_up(SHORT - Duration::from_nanos(1));
    }
    assert_eq!(sizes, [16, 32, 64, 128, 128]);
    assert_eq!(size.after_used_up(SHORT), BlockSize::default());
}
