//! Connections through middleboxes: the one result that RFC 8684 §3.7 and §6 require for each.
//!
//! Applications write real bytes here, and every byte that is read is compared with what was written.

mod transfer;

use pathweave_algorithms::Registry;
use pathweave_proto::ConnectionError;
use pathweave_units::{Duration, Instant};
use pathweave_wire::mptcp::{MpJoin, MptcpOption, ResetReason};
use transfer::{DIRECTIONS, Run, SIZE, Seen};

/// Checks that plain TCP continues on the first path and nothing is lost or changed.
#[track_caller]
fn falls_back(connection: &str, middlebox: &str) {
    for direction in DIRECTIONS {
        let run = Run::new(direction, connection, &[middlebox, ""]).finish();
        run.all_arrived();
        assert!(!run.is_mptcp(), "{}", run.text);
        assert_eq!((run.resets(0), run.data(1)), (0, 0), "{}", run.text);
    }
}

/// Checks that the run is as without any middlebox: both subflows carry data, and there is no reset.
#[track_caller]
fn is_transparent(middleboxes: &str) {
    for direction in DIRECTIONS {
        for connection in ["", "checksum = true"] {
            let run = Run::new(direction, connection, &[middleboxes, middleboxes]).finish();
            run.all_arrived();
            assert!(run.is_mptcp(), "{}", run.text);
            assert_eq!(run.count(|s| s.is_reset() || s.fails()), 0, "{}", run.text);
            assert!(run.data(0) > SIZE / 10 && run.data(1) > SIZE / 10, "{}", run.text);
        }
    }
}

/// Checks that every subflow of path `broken` is reset, for this reason if it is visible, and that the other one
/// continues.
#[track_caller]
fn breaks_a_subflow(
    direction: &str,
    connection: &str,
    broken: usize,
    middlebox: &str,
    reason: Option<ResetReason>,
) -> Run {
    let mut paths = ["", ""];
    paths[broken] = middlebox;
    let run = Run::new(direction, connection, &paths).finish();
    run.all_arrived();
    assert!(run.is_mptcp(), "{}", run.text);
    assert!(run.resets(broken) > 0, "{}", run.text);
    assert_eq!(run.resets(1 - broken), 0, "{}", run.text);
    let first = run.seen.borrow().iter().find(|s| s.is_reset()).and_then(Seen::reason);
    assert!(reason.is_none() || first == reason, "{first:?}: {}", run.text);
    run
}

/// Bad-input row 7, and the same on the SYN.
#[test]
fn options_stripped_on_a_syn_are_plain_tcp() {
    falls_back("", "middlebox = [\"strip:on=syn\"]");
    falls_back("", "middlebox = [\"strip:on=syn-ack\"]");
}

/// Bad-input row 8.
#[test]
fn options_stripped_on_the_third_ack_are_plain_tcp() {
    falls_back("", "middlebox = [\"strip:on=third-ack\"]");
}

/// Bad-input rows 8 and 15.
#[test]
fn options_stripped_on_the_first_data_are_plain_tcp() {
    falls_back("", "middlebox = [\"strip:on=first-data\"]");
    falls_back("checksum = true", "middlebox = [\"strip:on=first-data\"]");
}

#[test]
fn a_smaller_mtu_is_taken_from_messages_or_found_out() {
    let silent = "mtu:size=1300B:message=false";
    is_transparent("middlebox = [\"mtu:size=1300B\"]");
    for direction in DIRECTIONS {
        // With neither, the large segments of one path never arrive, and the other path carries their data.
        for (discovery, passes) in [("messages", false), ("black-holes", true)] {
            let connection = format!("path_mtu_discovery = \"{discovery}\"");
            let middlebox = format!("middlebox = [\"{silent}\"]");
            let run = Run::new(direction, &connection, &[&middlebox, ""]).finish();
            run.all_arrived();
            assert!(run.is_mptcp(), "{}", run.text);
            assert_eq!(run.data(0) > SIZE / 20, passes, "{}: {}", run.data(0), run.text);
        }
    }
}

#[test]
fn options_stripped_on_everything_are_plain_tcp() {
    falls_back("", "middlebox = [\"strip:on=all\"]");
    falls_back("", "middlebox = [\"strip:on=all:direction=up\"]");
    falls_back("", "middlebox = [\"strip:on=all:direction=down\"]");
}

/// Bad-input row 11: no subflow without MP_JOIN.
#[test]
fn options_stripped_in_a_join_are_a_reset_and_no_subflow() {
    for direction in DIRECTIONS {
        for on in ["syn", "syn-ack", "third-ack"] {
            let middlebox = format!("middlebox = [\"strip:on={on}\"]");
            let run = breaks_a_subflow(direction, "", 1, &middlebox, Some(ResetReason::MptcpError));
            assert_eq!(run.data(1), 0, "{}", run.text);
            // In the 3 s of the transfer, joins are tried at once, at once again, and 1 s and 2 s later. A server that
            // gets the third packet without its option says that the cause is permanent.
            let joins = run.count(|s| s.path == 1 && s.is_syn());
            let expected = if on == "third-ack" { 1..=1 } else { 2..=4 };
            assert!(expected.contains(&joins), "{joins}: {}", run.text);
        }
    }
}

/// Bad-input row 15.
#[test]
fn options_stripped_on_the_first_data_of_a_joined_subflow_are_a_reset() {
    for direction in DIRECTIONS {
        breaks_a_subflow(direction, "", 1, "middlebox = [\"strip:on=first-data\"]", Some(ResetReason::Middlebox));
    }
}

#[test]
fn options_stripped_mid_stream_break_the_subflow_and_the_other_carries_on() {
    for direction in DIRECTIONS {
        for broken in [0, 1] {
            let way = if direction == "upload" { "up" } else { "down" };
            let middlebox = format!("middlebox = [\"strip:on=all:after=500ms:direction={way}\"]");
            breaks_a_subflow(direction, "", broken, &middlebox, Some(ResetReason::Middlebox));
            let run = breaks_a_subflow(direction, "", broken, "middlebox = [\"strip:on=all:after=500ms\"]", None);
            // Joins cannot succeed. They do not come faster because the other subflow carries data.
            let seen = run.seen.borrow();
            let lost = seen.iter().find(|s| s.is_reset()).map(|s| s.at).expect("a reset");
            let joins = seen.iter().filter(|s| s.at > lost && s.path == broken && s.is_syn()).count();
            assert!((1..=3).contains(&joins), "{joins}: {}", run.text);
            // Data that the lost subflow had acknowledged without a mapping is sent again at once: 3 MB take 3 s on one
            // path.
            assert!(run.simulation.now() < Instant::ZERO + Duration::from_secs(5), "{}", run.text);
        }
    }
}

/// "The subflow SHOULD be treated as broken and closed with a RST" (RFC 8684 §3.7); there is no other.
#[test]
fn options_stripped_mid_stream_on_the_only_subflow_end_the_connection() {
    for direction in DIRECTIONS {
        let connection = "receive_buffer = \"200KB\"\nworkload = \"bulk\"\nclose_timeout = \"20s\"";
        let run = Run::new(direction, connection, &["middlebox = [\"strip:on=all:after=500ms\"]"]).finish();
        // Only the data with Multipath TCP options is received.
        let mapped = |s: &Seen| s.segment.options.dss.is_some() || !s.segment.options.mptcp.is_empty();
        let mapped: u64 =
            run.seen.borrow().iter().filter(|s| mapped(s)).map(|s| u64::from(s.segment.payload.len())).sum();
        let received = run.simulation.received_bytes();
        // In downloads, the capture sees segments before the middlebox strips them.
        assert!(received == mapped || direction == "download" && received < mapped, "{}", run.text);
        assert_eq!(run.simulation.altered_bytes(), 0, "{}", run.text);
        assert!(run.resets(0) > 0, "{}", run.text);
        let ends = run.simulation.measured_ends().flat_map(|(a, b)| [a, b]).flatten().count();
        assert_eq!(ends, 0, "{}", run.text);
        // Joins fail too, until no end waits for one any more.
        let reason = run.simulation.finish().reason;
        assert_eq!(reason, Some(ConnectionError::AllPathsDead.to_string()), "{}", run.text);
    }
}

/// Data arrives, but its acknowledgements are lost. The other subflow's DATA_ACKs are enough.
#[test]
fn acknowledgements_stripped_mid_stream_are_made_up_by_the_other_subflow() {
    for (direction, way) in [("upload", "down"), ("download", "up")] {
        for stripped in [0, 1] {
            let middlebox = format!("middlebox = [\"strip:on=all:after=500ms:direction={way}\"]");
            let mut paths = ["", ""];
            paths[stripped] = &middlebox;
            let run = Run::new(direction, "", &paths).finish();
            run.all_arrived();
            assert!(run.is_mptcp() && run.count(Seen::is_reset) == 0, "{}", run.text);
        }
    }
}

/// Without any DATA_ACK the sender gives up after `close_timeout`, however much the subflow acknowledges.
#[test]
fn acknowledgements_stripped_mid_stream_on_the_only_subflow_end_the_connection() {
    for (direction, way) in [("upload", "down"), ("download", "up")] {
        let middlebox = format!("middlebox = [\"strip:on=all:after=500ms:direction={way}\"]");
        let connection = "close_timeout = \"10s\"\nworkload = \"bulk\"";
        let mut run = Run::new(direction, connection, &[&middlebox]);
        run.simulation.run_until(Instant::ZERO + Duration::from_secs(12));
        let reason = run.simulation.finish().reason;
        assert_eq!(reason, Some(ConnectionError::AllPathsDead.to_string()), "{}", run.text);
    }
}

/// RFC 8684 §3.3.1: subflow sequence numbers of mappings are relative.
#[test]
fn rewritten_initial_sequence_numbers_change_nothing() {
    is_transparent("middlebox = [\"isn\"]\nloss = \"1%\"");
}

#[test]
fn address_translation_changes_nothing() {
    is_transparent("middlebox = [\"nat\"]");
}

#[test]
fn segments_that_are_cut_change_nothing() {
    is_transparent("middlebox = [\"split:size=500B\"]");
    is_transparent("middlebox = [\"split:size=500B:options=first\"]");
    is_transparent("middlebox = [\"split:size=500B:options=first\"]\nloss = \"1%\"");
}

#[test]
fn segments_that_are_joined_again_after_a_cut_change_nothing() {
    is_transparent("middlebox = [\"split:size=300B\", \"coalesce:size=900B:options=same\"]");
}

#[test]
fn all_that_should_be_transparent_at_once_is() {
    is_transparent("middlebox = [\"nat\", \"isn\", \"split:size=400B\", \"coalesce:size=800B:options=same\", \"isn\"]");
}

/// RFC 8684 §3.3.1: a mapping that "does not arrive within a receive window of data".
#[test]
fn segments_that_are_joined_lose_mappings_and_break_the_only_subflow_after_a_window() {
    for direction in DIRECTIONS {
        let connection = "receive_buffer = \"200KB\"\nworkload = \"bulk\"";
        let run = Run::new(direction, connection, &["middlebox = [\"coalesce:size=3000B:wait=5ms\"]"]).finish();
        assert_eq!(run.simulation.altered_bytes(), 0, "{}", run.text);
        let seen = run.seen.borrow();
        let first = seen.iter().find(|s| s.is_reset()).expect("a reset");
        assert_eq!(first.reason(), Some(ResetReason::Middlebox), "{}", run.text);
        // The connection lives on with the next subflow, until that is broken in the same way.
        assert!(seen.iter().any(|s| s.at > first.at && s.is_syn()), "{}", run.text);
    }
}

#[test]
fn segments_that_are_joined_lose_mappings_and_break_the_subflow() {
    for direction in DIRECTIONS {
        for broken in [0, 1] {
            let middlebox = "middlebox = [\"coalesce:size=3000B:wait=5ms\"]";
            breaks_a_subflow(direction, "", broken, middlebox, Some(ResetReason::Middlebox));
        }
    }
}

/// Bad-input row 23.
#[test]
fn edited_payload_with_checksums_is_mp_fail_and_a_reset_where_there_are_several_subflows() {
    for direction in DIRECTIONS {
        for broken in [0, 1] {
            let middlebox = "middlebox = [\"edit:at=200KB\"]";
            let run = breaks_a_subflow(direction, "checksum = true", broken, middlebox, Some(ResetReason::Middlebox));
            let seen = run.seen.borrow();
            let reset = seen.iter().find(|s| s.is_reset()).expect("a reset");
            assert!(reset.fails() && reset.path == broken, "{}", run.text);
        }
    }
}

/// Bad-input row 23: the stream continues as plain TCP, which accepts the changed data.
#[test]
fn edited_payload_with_checksums_is_mp_fail_and_an_infinite_mapping_on_the_only_subflow() {
    for direction in DIRECTIONS {
        for at in ["1B", "200KB", "3000000B"] {
            let middlebox = format!("middlebox = [\"edit:at={at}\"]");
            let run = Run::new(direction, "checksum = true", &[&middlebox]).finish();
            let simulation = &run.simulation;
            assert_eq!((simulation.received_bytes(), simulation.altered_bytes()), (SIZE, 1), "{}", run.text);
            assert!(!run.is_mptcp(), "{}", run.text);
            for from_client in [false, true] {
                let fails = run.count(|s| s.from_client == from_client && s.fails());
                assert!(fails > 0, "from the client: {from_client}: {}", run.text);
            }
            assert!(run.count(Seen::is_infinite) > 0 || at == "3000000B", "{}", run.text);
            assert_eq!(run.resets(0), 0, "{}", run.text);
        }
    }
}

/// Neither side asked for checksums, so Multipath TCP accepts what TCP accepts.
#[test]
fn edited_payload_without_checksums_is_delivered() {
    for direction in DIRECTIONS {
        let run = Run::new(direction, "", &["middlebox = [\"edit:at=200KB\"]", ""]).finish();
        let simulation = &run.simulation;
        assert_eq!((simulation.received_bytes(), simulation.altered_bytes()), (SIZE, 1), "{}", run.text);
        assert!(run.is_mptcp() && run.resets(0) == 0, "{}", run.text);
    }
}

/// Virtual payload counts as zeros, so an edited byte differs.
#[test]
fn edits_of_virtual_payload_are_noticed_as_well() {
    let middlebox = "middlebox = [\"edit:at=200KB\"]";
    for (connection, paths, altered) in
        [("", vec![middlebox], 1), ("checksum = true", vec![middlebox], 1), ("checksum = true", vec![middlebox, ""], 0)]
    {
        let run = Run::of_virtual_payload("upload", connection, &paths).finish();
        let simulation = &run.simulation;
        assert_eq!((simulation.received_bytes(), simulation.altered_bytes()), (SIZE, altered), "{}", run.text);
        let fails = run.count(Seen::fails) > 0;
        assert_eq!((run.is_mptcp(), fails), (paths.len() > 1 || connection.is_empty(), !connection.is_empty()));
    }
}

/// RFC 8684 §3.7: "an ACK is received for data ... without a DSS option containing a Data ACK".
#[test]
fn proactive_acknowledgements_from_the_start_are_plain_tcp() {
    let run = Run::new("upload", "", &["middlebox = [\"proactive-ack:delay=3ms\"]", ""]).finish();
    run.all_arrived();
    assert!(!run.is_mptcp(), "{}", run.text);
    assert_eq!((run.resets(0), run.data(1)), (0, 0), "{}", run.text);
}

/// RFC 8684 §3.3.6: data is kept until it is acknowledged at the data level, and sent again if it was lost.
#[test]
fn data_that_was_acknowledged_proactively_and_lost_comes_again() {
    for broken in [0, 1] {
        for loss in ["0", "0.1%"] {
            let mut paths = ["", ""];
            let lines = format!("middlebox = [\"proactive-ack:delay=3ms:after=300ms\"]\nloss = \"{loss}\"");
            paths[broken] = &lines;
            let run = Run::new("upload", "", &paths).finish();
            run.all_arrived();
            assert!(run.is_mptcp(), "{}", run.text);
        }
    }
}

/// The subflow dies as a TCP connection does, by the server's reset, and is joined again from its new port.
#[test]
fn a_subflow_whose_address_translation_changed_dies_and_is_joined_again() {
    for broken in [0, 1] {
        let mut paths = ["", ""];
        paths[broken] = "middlebox = [\"nat:after=500ms\"]";
        let run = Run::new("upload", "", &paths).finish();
        run.all_arrived();
        assert!(run.is_mptcp(), "{}", run.text);
        assert_eq!(run.resets(1 - broken), 0, "{}", run.text);
        let seen = run.seen.borrow();
        let reset = seen.iter().find(|s| s.is_reset()).expect("a reset");
        assert!(!reset.from_client && reset.path == broken, "{}", run.text);
        let join = |s: &&Seen| s.at > reset.at && s.path == broken && s.is_syn();
        let join = seen.iter().find(join).expect("a join");
        assert!(join.has(|o| matches!(o, MptcpOption::Join(MpJoin::Syn { .. }))), "{}", run.text);
        let carries = |s: &&Seen| s.segment.src == join.segment.src && !s.segment.payload.is_empty();
        assert!(seen.iter().filter(carries).count() > 100, "{}", run.text);
    }
}

/// Plain TCP ends. Multipath TCP joins again from the new address, because both ends keep a connection without subflows
/// for a while.
#[test]
fn a_connection_survives_the_address_translation_of_its_only_subflow_where_tcp_ends() {
    for (connection, expected) in [("mptcp = true", None), ("mptcp = false", Some(ConnectionError::Reset))] {
        let connection = format!("{connection}\nmeasured = true\nworkload = \"bulk\"");
        let mut run = Run::new("upload", &connection, &["middlebox = [\"nat:after=500ms\"]"]);
        run.simulation.run_until(Instant::ZERO + Duration::from_secs(2));
        let before = run.simulation.received_bytes();
        run.simulation.run_until(Instant::ZERO + Duration::from_secs(4));
        assert_eq!(run.simulation.altered_bytes(), 0);
        // 8 Mbit/s for two seconds, or nothing.
        let more = run.simulation.received_bytes() - before;
        assert_eq!(more > 1_500_000, expected.is_none(), "{more}: {}", run.text);
        let reason = run.simulation.finish().reason;
        assert_eq!(reason, expected.map(|e| e.to_string()), "{}", run.text);
    }
}

/// A client that only reads finds out by its keep-alive (RFC 9293 §3.8.4), because the server's data to the old port is
/// dropped.
#[test]
fn a_reader_behind_a_changed_address_translation_joins_again_after_a_keep_alive() {
    for broken in [0, 1] {
        let mut paths = ["", ""];
        paths[broken] = "middlebox = [\"nat:after=500ms\"]";
        let connection = "keep_alive = \"1s\"\nworkload = \"transfer:size=10MB\"";
        let run = Run::new("download", connection, &paths).finish();
        let simulation = &run.simulation;
        assert_eq!((simulation.received_bytes(), simulation.altered_bytes()), (10_000_000, 0), "{}", run.text);
        assert!(run.is_mptcp(), "{}", run.text);
        let seen = run.seen.borrow();
        let reset = seen.iter().find(|s| s.is_reset()).expect("a reset");
        assert!(!reset.from_client && reset.path == broken, "{}", run.text);
        let join = seen.iter().find(|s| s.at > reset.at && s.path == broken && s.is_syn()).expect("a join");
        let carries = |s: &&Seen| s.segment.dst == join.segment.src && !s.segment.payload.is_empty();
        assert!(seen.iter().filter(carries).count() > 100, "{}", run.text);
    }
}

/// A transparent middlebox is transparent for every scheduler, and one that breaks a subflow loses no byte with any.
#[test]
fn every_scheduler_gets_all_data_through() {
    let registry = Registry::builtin();
    for scheduler in registry.schedulers() {
        let name = scheduler.name();
        for middleboxes in [
            "[\"nat\", \"isn\", \"split:size=400B\"]",
            "[\"strip:on=all:after=500ms\"]",
            "[\"coalesce:size=3000B:wait=5ms\"]",
            "[\"proactive-ack:delay=3ms:after=300ms\"]",
        ] {
            let connection = format!("scheduler = \"{name}\"\npath_mode = \"primary\"");
            let middlebox = format!("middlebox = {middleboxes}");
            let run = Run::new("upload", &connection, &["", &middlebox]).finish();
            run.all_arrived();
        }
    }
}

/// ARCHITECTURE.md, contracts 7 and 8.
#[test]
fn runs_with_middleboxes_are_reproducible_and_the_same_through_bytes() {
    let middleboxes = "middlebox = [\"nat:after=1s\", \"isn\", \"split:size=500B\", \"edit:at=1MB\"]\nloss = \"0.5%\"";
    let digest = |through_bytes| {
        let mut run = Run::new("upload", "checksum = true", &["", middleboxes]);
        if through_bytes {
            run.simulation.set_through_bytes();
        }
        run.finish().simulation.finish().digest
    };
    assert_eq!(digest(false), digest(false));
    assert_eq!(digest(true), digest(false));
}
