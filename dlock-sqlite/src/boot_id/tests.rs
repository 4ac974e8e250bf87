//! The verdict of one boot on a record of another.

use super::*;

#[test]
fn boots_survive_being_written() {
    for boot in [
        BootId::Kernel(Uuid::new_v4()),
        BootId::Private(Uuid::new_v4()),
        BootId::Wall,
    ] {
        assert_eq!(BootId::parse(&boot.to_string()), Some(boot));
    }
    for nonsense in ["", "wall ", "private:", "private:wall", "x"] {
        assert_eq!(BootId::parse(nonsense), None, "{nonsense:?}");
    }
}

#[test]
fn only_another_boot_of_the_kernel_proves_a_holder_dead() {
    let kernel = BootId::Kernel(Uuid::new_v4());
    let private = BootId::Private(Uuid::new_v4());
    assert_eq!(kernel.relation(kernel), Relation::Same);
    assert_eq!(
        kernel.relation(BootId::Kernel(Uuid::new_v4())),
        Relation::Over
    );
    for (one, other) in [
        (kernel, private),
        (private, kernel),
        (private, BootId::Private(Uuid::new_v4())),
        (kernel, BootId::Wall),
        (BootId::Wall, kernel),
    ] {
        assert_eq!(one.relation(other), Relation::Strange);
    }
}
