use super::*;

/// In the form of the published traces; the numbers are made up.
const TRACE: &str = r#"{"tx_length": 100, "stop_date": "2018-01-13T16:21:30.0", "channels": [11, 12, 26], "location": "a hall", "node_count": 4, "start_date": "2018-01-11T16:32:22.0", "interframe_duration": 100}
datetime,src,dst,channel,mean_rssi,pdr,tx_count
2018-01-11T16:32:22.0,0,1,11,-69.9,1.0,100
2018-01-11T16:32:22.0,0,2,11,-80.06,0.6,100
2018-01-11T16:32:33.0,1,0,11,-70.5,0.99,100
2018-01-11T16:32:33.0,1,3,12,None,0.0,100
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
    let odd = with(3, "2018-01-11T16:32:22.0,0,1,11,,0.125,1").unwrap();
    assert_eq!(Trace::parse(&odd.to_string()), Ok(odd.clone()));
    assert_eq!(odd.rows[0].mean_rssi, None);
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
