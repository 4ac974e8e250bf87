//! Negative controls: each trap of the protocol, and each rule that is switched off, must yield a
//! counter-example to exactly the property that it breaks, and none without it.

use dlock_model::{Config, Control, Outcome, Property, Trap, search, shortest};

/// Searches for the counter-example of a trap and prints it.
fn counter_example(trap: Trap) -> Outcome {
    let Control {
        property, config, ..
    } = trap.control();
    let outcome = shortest(&config, property);
    let trace = outcome
        .trace()
        .unwrap_or_else(|| panic!("{trap:?} must violate {}: {outcome}", property.name()));
    println!("{trap:?}: {outcome}\n{trace}");
    outcome
}

#[test]
fn each_trap_of_the_protocol_has_its_counter_example() {
    for trap in Trap::SECTION_11 {
        counter_example(*trap);
    }
}

#[test]
fn what_is_documented_to_break_does() {
    for trap in Trap::DOCUMENTED {
        counter_example(*trap);
    }
}

#[test]
fn each_rule_of_successors_that_is_left_out_is_missed() {
    for trap in Trap::SUCCESSORS {
        counter_example(*trap);
    }
}

#[test]
fn each_rule_that_is_switched_off_is_missed() {
    for trap in Trap::MUTATIONS {
        counter_example(*trap);
    }
}

/// A property that nothing can violate would be meaningless.
#[test]
fn each_property_is_violated_by_a_trap() {
    // These two also violate exclusion, which is the main purpose of the traps.
    let also = [
        (Trap::DeadlineFromReply, Property::DeadlineFromSent),
        (Trap::NoMargin, Property::Backed),
    ];
    for (trap, property) in also {
        let outcome = shortest(&trap.control().config, property);
        assert!(outcome.violation.is_some(), "{trap:?}: {outcome}");
    }
    let violated: Vec<Property> = Trap::all()
        .map(|trap| trap.control().property)
        .chain(also.map(|(_, property)| property))
        .collect();
    for property in Property::ALL {
        assert!(violated.contains(property), "{property:?}");
    }
}

/// Otherwise a control would prove nothing about its trap.
#[test]
fn the_same_configurations_are_safe_without_the_trap() {
    for trap in Trap::all() {
        let control = trap.control();
        let wrong_world = matches!(
            trap,
            Trap::NoMargin
                | Trap::DriftBeyondMargin
                | Trap::StoreClockForward
                | Trap::Forced
                | Trap::Unfenced
        );
        if wrong_world {
            // In these the configuration is wrong, not a rule.
            continue;
        }
        let config = Config {
            trap: None,
            reduced: true,
            ..control.config
        };
        let outcome = search(&config, "without the trap");
        assert!(
            outcome.violation.is_none(),
            "{trap:?}: {}",
            outcome.trace().unwrap_or_default()
        );
    }
}

/// The margins are exact: with one tick less of error, no property is violated.
#[test]
fn what_is_within_the_margin_is_safe() {
    let exact = [
        Config {
            drifts: 0,
            ..Trap::NoMargin.control().config
        },
        Config {
            drifts: 1,
            ..Trap::DriftBeyondMargin.control().config
        },
        Config {
            steps: &[1],
            ..Trap::StoreClockForward.control().config
        },
        Config {
            fenced: true,
            ..Trap::Unfenced.control().config
        },
    ];
    for config in exact {
        let config = Config {
            trap: None,
            ..config
        };
        let outcome = search(&config, "within the margin");
        assert!(
            outcome.violation.is_none(),
            "{}",
            outcome.trace().unwrap_or_default()
        );
    }
}

/// I5: also where beliefs overlap, by force or by clocks beyond the margin, the resource that
/// compares tokens accepts nothing stale. `suite` searches more such cases.
#[test]
fn a_fenced_resource_is_safe_where_beliefs_overlap() {
    for trap in [
        Trap::NoMargin,
        Trap::DriftBeyondMargin,
        Trap::StoreClockForward,
        Trap::Forced,
        Trap::ClaimWithoutObservation,
        Trap::DeadlineFromReply,
    ] {
        const FENCE: &[Property] = &[Property::FencedOrder, Property::TokensGrow];
        let config = Config {
            resource: true,
            properties: FENCE,
            ..trap.control().config
        };
        let outcome = search(&config, "fenced");
        assert!(
            outcome.violation.is_none(),
            "{trap:?}: {}",
            outcome.trace().unwrap_or_default()
        );
        let overlap = counter_example(trap);
        assert_eq!(
            overlap.violation.map(|(property, _)| property),
            Some(Property::Exclusion.name()),
        );
    }
}

/// The search that omits steps (`dominance`) finds the same as the full one, where a trap does
/// not need an omitted step.
#[test]
fn the_dominant_steps_fall_into_the_same_traps() {
    for trap in [
        Trap::DeadlineFromReply,
        Trap::NoMargin,
        Trap::DriftBeyondMargin,
        Trap::RenewalNumberUnchecked,
        Trap::LargerNumberEarlierSent,
        Trap::CreditedToNewest,
        Trap::ClaimWithoutObservation,
        Trap::RevokerClaims,
        Trap::TokenResetOnRelease,
        Trap::A3Removed,
        Trap::ReleaseByConfirmedState,
        Trap::TicketInsistsOnNumber,
        Trap::StoreClockForward,
        Trap::StoreClockBackWithoutA6,
        Trap::Forced,
        Trap::Unfenced,
        Trap::ClaimByUuid,
        Trap::OwnDurationObserved,
        Trap::TakeKeepsDuration,
        Trap::ReleaseWithoutUuid,
        Trap::ValidWhileReleasing,
        Trap::BeginningShownAndPurged,
        Trap::BeginningShownAndLost,
        Trap::BeginningShownToOlderRelease,
        Trap::EndedLeaseClaimed,
        Trap::GiverEndsLast,
        Trap::GiverReleases,
        Trap::TicketOnLivingTerm,
        Trap::SuccessorBelowFloor,
        Trap::StaleCountsAlone,
    ] {
        let control = trap.control();
        let config = Config {
            dominant: true,
            // These two are about claims of a version that is gone.
            looks_at_once: !matches!(trap, Trap::RenewalNumberUnchecked | Trap::ClaimByUuid),
            ..control.config
        };
        let outcome = shortest(&config, control.property);
        assert!(outcome.violation.is_some(), "{trap:?}: {outcome}");
    }
}

/// Only V4 keeps beliefs apart when a late renewal revives an expired record; R1's test of
/// the expiry is against needless blocking.
#[test]
fn a_revived_record_blocks_but_nobody_believes_in_it() {
    const BELIEF: &[Property] = &[Property::Exclusion];
    let config = Config {
        properties: BELIEF,
        tries: 2,
        drifts: 1,
        dominant: true,
        ..Trap::RenewalRevivesExpired.control().config
    };
    let outcome = search(&config, "revived");
    assert!(
        outcome.violation.is_none(),
        "{}",
        outcome.trace().unwrap_or_default()
    );
}
