//! Which cases catch the wrong decisions of names and prefixes.

caught! {
    NamesIgnoreCase: names_that_differ_in_a_byte_are_different_locks
        list_pages_through_every_name_in_byte_order list_takes_its_prefix_literally;
    NamesAreTrimmed: names_that_differ_in_a_byte_are_different_locks;
    NamesAreComposed: names_that_differ_in_a_byte_are_different_locks
        list_pages_through_every_name_in_byte_order;
    NamesAreCut: long_names_are_compared_to_their_end longest_name_may_be_of_any_script;
    LongNamesAreRefused: long_names_are_compared_to_their_end longest_name_may_be_of_any_script
        every_release_is_hinted_under_its_own_name;
    NonAsciiLongNamesAreCut: longest_name_may_be_of_any_script;
    PrefixIsJoined: prefix_and_name_are_kept_apart;
    PrefixIsIgnored: prefix_and_name_are_kept_apart;
    LongKeysAreCut: name_that_is_too_long_with_its_prefix_is_refused;
}
