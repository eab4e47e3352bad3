use proptest::prelude::*;

use super::*;
use crate::radio::Air;

/// In the form of the published traces; the numbers are made up.
const TRACE: &str = r#"{"tx_length": 100, "stop_date": "2018-01-13T16:21:30.0", "channels": [11, 12, 26], "location": "a hall", "node_count": 4, "start_date": "2018-01-11T16:32:22.0", "interframe_duration": 100}
datetime,src,dst,channel,mean_rssi,pdr,tx_count
2018-01-11T16:32:22.0,0,1,11,-69.9,1.0,100
2018-01-11T16:32:22.0,0,2,11,-80.06,0.6,100
2018-01-11T16:32:33.0,1,0,11,-70.5,0.99,100
2018-01-11T16:32:33.0,1,3,12,,0.0,100
2018-01-11T16:32:44.5,2,3,,-91.25,0.5,100
2018-01-11T17:32:22.0,0,1,11,-75.0,0.25,100
"#;

/// The trace with a line replaced, which has the number of the text from 1 on.
fn with(line: usize, text: &str) -> Result<Trace, TraceError> {
    let mut lines: Vec<&str> = TRACE.lines().collect();
    lines[line - 1] = text;
    Trace::parse(&lines.join("\n"))
}

fn cause(line: usize, text: &str) -> TraceErrorCause {
    let error = with(line, text).unwrap_err();
    assert_eq!(error.line, line, "{error}");
    error.cause
}

#[test]
fn a_trace_is_written_as_it_was_read() {
    let trace = Trace::parse(TRACE).unwrap();
    assert_eq!(trace.to_string(), TRACE);
    assert_eq!((trace.header.node_count, trace.rows.len()), (4, 6));
    let none = with(3, "2018-01-11T16:32:22.0,0,1,11,None,0.125,1").unwrap();
    assert_eq!(none.rows[0].mean_rssi, None);
    assert_eq!(none.to_string().lines().nth(2), Some("2018-01-11T16:32:22.0,0,1,11,,0.125,1"));
    assert_eq!(Trace::parse(&none.to_string()), Ok(none));
}

/// In the form of the k7 tool's traces: spaces in moments, no fractions, and no number of frames.
#[test]
fn a_trace_of_the_k7_tool_is_written_as_it_was_read() {
    let header = TRACE.lines().next().unwrap().replace("T16:21:30.0", " 16:21:30").replace("T16:32:22.0", " 16:32:22");
    let rows = "\
2018-01-11 16:32:22,0,1,11,-60.25,1.0,
2018-01-11 16:32:22,1,0,,,0.0,
2018-01-11 16:32:30,2,3,12,,0.0,
2018-01-13 16:21:30,3,1,26,-91.0,0.34,
";
    let text = format!("{header}\n{COLUMNS}\n{rows}");
    let trace = Trace::parse(&text).unwrap();
    assert_eq!(trace.to_string(), text);
    assert!(trace.rows.iter().all(|row| row.tx_count.is_none()));
    let of = |row: &Row| (row.channel, row.mean_rssi, row.pdr, row.datetime.since(trace.header.start_date).as_secs());
    let last = (Some(26), Some(-91.0), 0.34, 172_148);
    assert_eq!(
        trace.rows.iter().map(of).collect::<Vec<_>>(),
        [(Some(11), Some(-60.25), 1.0, 0), (None, None, 0.0, 0), (Some(12), None, 0.0, 8), last]
    );
}

#[test]
fn both_forms_may_stand_in_one_trace() {
    let text = TRACE
        .replace("\"2018-01-11T16:32:22.0\"", "\"2018-01-11 16:32:22\"")
        .replace("2018-01-11T16:32:22.0,0,2,11,-80.06,0.6,100", "2018-01-11 16:32:22,0,2,11,-80.06,0.6,")
        .replace("2018-01-11T16:32:33.0,1,3,12,,0.0,100", "2018-01-11T16:32:33,1,3,12,,0.0,")
        .replace("2018-01-11T16:32:44.5,2,3,,-91.25,0.5,100", "2018-01-11 16:32:44.5,2,3,,-91.25,0.5,7");
    let trace = Trace::parse(&text).unwrap();
    assert_eq!(trace.to_string(), text);
    let counts = trace.rows.iter().map(|row| row.tx_count).collect::<Vec<_>>();
    assert_eq!(counts, [Some(100), None, Some(100), None, Some(7), Some(100)]);
    let radio = Trace::parse(TRACE).unwrap().connectivity(Duration::ZERO);
    assert_eq!(trace.connectivity(Duration::ZERO), radio, "the form of a moment changes nothing");
}

/// The excerpt is the beginning of traces/grenoble.k7.gz of the 6TiSCH Simulator (Copyright (c) Inria, BSD-3-Clause: the
/// README.md beside the excerpt): the header, the columns and 400 rows. The expected values were read off the file, and the links
/// were counted with awk.
#[test]
fn an_excerpt_of_a_published_trace_is_written_as_it_was_read() {
    let text = include_str!("grenoble-excerpt.k7");
    let trace = Trace::parse(text).unwrap();
    assert_eq!(trace.to_string(), text);
    let Header { tx_length, channels, location, node_count, interframe_duration, .. } = &trace.header;
    assert_eq!((*tx_length, &**location, *node_count, *interframe_duration), (100, "grenoble", 50, 100));
    assert_eq!((channels.len(), trace.rows.len()), (16, 400));
    let of = |row: &Row| {
        let after = row.datetime.since(trace.header.start_date).as_secs();
        (after, (row.src, row.dst), row.channel, row.mean_rssi, row.pdr, row.tx_count)
    };
    let first: Vec<_> = trace.rows.iter().take(3).map(of).collect();
    assert_eq!(
        first,
        [
            (0, (0, 18), Some(11), Some(-69.9), 1.0, Some(100)),
            (0, (0, 7), Some(11), Some(-70.74), 1.0, Some(100)),
            (0, (0, 42), Some(11), Some(-80.06), 0.6, Some(100)),
        ]
    );
    // 16:42:55 is 10 min 33 s after 16:32:22.
    assert_eq!(trace.rows.last().map(of), Some((633, (6, 47), Some(12), Some(-46.95), 1.0, Some(100))));
    let radio = trace.connectivity(Duration::ZERO);
    assert_eq!(radio.links().count(), 348);
    let qualities = radio.links().flat_map(|(from, to, _)| (11..=26).map(move |channel| (from, to, channel)));
    assert_eq!(qualities.filter(|(from, to, channel)| radio.rssi(*from, *to, *channel).is_some()).count(), 400);
    assert_eq!((radio.delivery(0, 42, 11), radio.rssi(6, 1, 12)), (0.6, Some(-87.26)));
}

/// Reads a whole trace, of which all rows must be written as they were, if the environment variable `TERSE_K7_TRACE` has the name
/// of its file. The header may have another order and other white space.
#[test]
fn a_trace_that_the_environment_names_is_written_as_it_was_read() {
    let Some(name) = std::env::var_os("TERSE_K7_TRACE") else { return };
    let text = std::fs::read_to_string(name).unwrap();
    let trace = Trace::parse(&text).unwrap_or_else(|error| panic!("{error}"));
    let written = trace.to_string();
    let header = |text: &str| serde_json::from_str::<serde_json::Value>(text.lines().next().unwrap()).unwrap();
    assert_eq!(header(&written), header(&text));
    let different = written.lines().zip(text.lines()).skip(1).find(|(written, read)| written != read);
    assert_eq!((different, written.lines().count()), (None, text.lines().count()));
    assert_later_is_changed(&trace, Duration::ZERO, Duration::from_hours(24));
    assert_later_is_changed(&trace, Duration::from_mins(150), Duration::from_hours(5));
}

/// The radio with which a simulation begins, changed until a time, must be the radio at that time.
fn assert_later_is_changed(trace: &Trace, after: Duration, time: Duration) {
    let mut radio = trace.connectivity(after);
    let nodes = trace.header.node_count;
    let mut air = Air::new(&radio, nodes.into());
    for change in trace.changes(after).iter().take_while(|change| change.after <= time) {
        radio.set_with_rssi(change.from, change.to, change.channel, change.delivery, change.rssi);
        air.change(change);
    }
    let expected = trace.connectivity(after + time);
    assert!(radio == expected, "{after:?} and {time:?} later");
    for (from, to) in (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to))) {
        for channel in 11..=26 {
            assert_eq!(air.delivery(from, to, channel), expected.delivery(from, to, channel), "{from} {to} {channel}");
            let strength =
                air.receivers(from, channel).find(|(receiver, ..)| *receiver == to).and_then(|(.., rssi)| rssi);
            assert_eq!(strength, expected.rssi(from, to, channel), "{from} {to} {channel}");
        }
    }
}

/// Rows of three nodes within 2 s, so that many of them are of one link and channel, and some of one moment.
fn rows() -> impl Strategy<Value = Vec<Row>> {
    let links = prop::sample::select(vec![(0_u16, 1_u16), (1, 0), (0, 2), (2, 1)]);
    let channels = prop::option::weighted(0.8, prop::sample::select(vec![11_u8, 12, 26]));
    let row = (0_u8..20, links, channels, prop::option::weighted(0.8, -95.0..-40.0), 0.0..=1.0);
    prop::collection::vec(row, 0..40).prop_map(|mut rows| {
        rows.sort_by_key(|row| row.0);
        let row = |(tenths, (src, dst), channel, mean_rssi, pdr)| {
            let datetime = format!("2018-01-11T16:32:{}.{}", 22 + tenths / 10, tenths % 10).parse().unwrap();
            Row { datetime, src, dst, channel, mean_rssi, pdr, tx_count: Some(100) }
        };
        rows.into_iter().map(row).collect()
    })
}

proptest! {
    #[test]
    fn what_was_changed_until_a_time_is_the_radio_of_that_time(rows in rows(), after in 0_u64..45, time in 0_u64..45) {
        let trace = Trace { header: Trace::parse(TRACE).unwrap().header, rows };
        prop_assert_eq!(Trace::parse(&trace.to_string()), Ok(trace.clone()));
        // Half tenths of a second, so that times are at those of rows and between them.
        let [after, time] = [after, time].map(|half_tenths| Duration::from_millis(50 * half_tenths));
        assert_later_is_changed(&trace, after, time);
    }
}

#[test]
fn links_are_those_of_the_time() {
    let trace = Trace::parse(TRACE).unwrap();
    let radio = trace.connectivity(Duration::ZERO);
    assert_eq!((radio.delivery(0, 1, 11), radio.rssi(0, 1, 11)), (1.0, Some(-69.9)));
    // Only channel 11 was measured.
    assert_eq!((radio.delivery(0, 1, 12), radio.hears(0, 1, 26)), (0.0, false));
    // Later rows count where there is no earlier one; without a channel, they are of all.
    assert_eq!((radio.delivery(1, 0, 11), radio.delivery(2, 3, 26)), (0.99, 0.5));
    assert!(!radio.hears(1, 3, 12));
    let later = trace.connectivity(Duration::from_secs(3_600));
    assert_eq!((later.delivery(0, 1, 11), later.delivery(0, 2, 11)), (0.25, 0.6));
    assert_eq!(trace.connectivity(Duration::from_secs(3_599)), radio);
    let changes = |after| -> Vec<u128> {
        let mut times: Vec<_> = trace.changes(after).iter().map(|change| change.after.as_millis()).collect();
        times.dedup();
        times
    };
    assert_eq!(changes(Duration::ZERO), [11_000, 22_500, 3_600_000]);
    assert_eq!(changes(Duration::from_secs(11)), [11_500, 3_589_000], "what is past is part of the beginning");
    let last = trace.changes(Duration::from_secs(3_599)).into_iter().find(|change| (change.from, change.to) == (0, 1));
    assert_eq!(last.map(|change| (change.channel, change.delivery)), Some((Some(11), 0.25)));
}

#[test]
fn a_bad_line_is_named() {
    let row = |fields: &str| cause(4, fields);
    assert_eq!(row("2018-01-11T16:32:22.0,0,1,11,-69.9,1.0"), TraceErrorCause::Fields(6));
    assert_eq!(row(""), TraceErrorCause::Fields(1));
    assert_eq!(row("yesterday,0,1,11,-69.9,1.0,100"), TraceErrorCause::Field("datetime"));
    assert_eq!(row("2018-01-11T16:32:22.0,x,1,11,-69.9,1.0,100"), TraceErrorCause::Field("src"));
    assert_eq!(row("2018-01-11T16:32:22.0,0,-1,11,-69.9,1.0,100"), TraceErrorCause::Field("dst"));
    assert_eq!(row("2018-01-11T16:32:22.0,0,1,300,-69.9,1.0,100"), TraceErrorCause::Field("channel"));
    for rssi in ["strong", "inf", "-201.0"] {
        let text = format!("2018-01-11T16:32:22.0,0,1,11,{rssi},1.0,100");
        assert_eq!(row(&text), TraceErrorCause::Field("mean_rssi"));
    }
    for pdr in ["1.01", "-0.1", "NaN", "", "+1"] {
        assert_eq!(row(&format!("2018-01-11T16:32:22.0,0,1,11,-69.9,{pdr},100")), TraceErrorCause::Field("pdr"));
    }
    assert_eq!(row("2018-01-11T16:32:22.0,0,1,11,-69.9,1.0,many"), TraceErrorCause::Field("tx_count"));
    assert_eq!(row("2018-01-11T16:32:22.0,0,4,11,-69.9,1.0,100"), TraceErrorCause::Node);
    assert_eq!(row("2018-01-11T16:32:22.0,2,2,11,-69.9,1.0,100"), TraceErrorCause::Node);
    assert_eq!(row("2018-01-11T16:32:22.0,0,1,13,-69.9,1.0,100"), TraceErrorCause::Channel);
    assert_eq!(row("2018-01-11T16:32:21.9,0,1,11,-69.9,1.0,100"), TraceErrorCause::Time, "before the beginning");
    assert_eq!(row("2018-01-13T16:21:30.1,0,1,11,-69.9,1.0,100"), TraceErrorCause::Time, "after the end");
    assert_eq!(cause(6, "2018-01-11T16:32:32.9,0,1,11,-69.9,1.0,100"), TraceErrorCause::Time, "not in order");
    assert_eq!(cause(2, "datetime,src,dst"), TraceErrorCause::Columns);
    let error = with(4, "2018-01-11T16:32:22.0,0,1,11,-69.9,2,100").unwrap_err();
    assert_eq!(error.to_string(), "line 4: pdr must be a number from 0 to 1");
    let error = with(4, "2018-01-11,0,1,11,-69.9,1.0,100").unwrap_err();
    assert!(error.to_string().contains("datetime must be like 2018-01-11T16:32:22.0 or"), "{error}");
    let error = with(4, "2018-01-11T16:32:22.0,0,1,11,-69.9,1.0,-1").unwrap_err();
    assert_eq!(error.to_string(), "line 4: tx_count must be a whole number, or nothing");
}

#[test]
fn a_bad_header_is_named() {
    let header = |from: &str, to: &str| {
        let first = TRACE.lines().next().unwrap();
        assert!(first.contains(from));
        with(1, &first.replace(from, to)).unwrap_err()
    };
    assert_eq!(header("[11, 12, 26]", "[11, 12, 27]").cause, TraceErrorCause::Channels);
    assert_eq!(header("[11, 12, 26]", "[11, 12, 11]").cause, TraceErrorCause::Channels);
    assert_eq!(header("\"2018-01-13", "\"2018-01-10").cause, TraceErrorCause::Dates);
    for (from, to, says) in [
        ("\"node_count\": 4, ", "", "node_count"),
        ("\"node_count\"", "\"nodes\"", "nodes"),
        ("\"2018-01-13T16:21:30.0\"", "\"now\"", "must be like"),
        ("{", "", "line 1"),
    ] {
        let error = header(from, to);
        assert!(matches!(error.cause, TraceErrorCause::Header(_)) && error.line == 1);
        assert!(error.to_string().contains(says), "{error}");
    }
    assert_eq!(Trace::parse("").unwrap_err().line, 1);
}
