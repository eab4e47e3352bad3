//! docs/sixtisch-paper.md says what the command says.

use super::*;

/// Returns the page's row that begins with this cell.
fn row<'p>(page: &'p str, first: &str) -> &'p str {
    let start = format!("| {first} |");
    page.lines().find(|line| line.starts_with(&start)).unwrap_or_else(|| panic!("no row of {first} on the page"))
}

#[test]
fn the_page_has_the_numbers_of_the_command() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/sixtisch-paper.md");
    let page = std::fs::read_to_string(path).expect("the page is there");
    let evaluation = Evaluation::new(&Amount { seeds: None, jobs: None }).expect("it runs");
    for measured in evaluation.table2.iter().chain(&evaluation.table3) {
        let (latency, bytes, paper) = (measured.latency(), measured.bytes(), measured.row.scenario.paper);
        let (seconds, of_paper) = (paper.latency_ms.expect("it is of a table") / 1e3, paper.bytes.expect("likewise"));
        let difference = |value: f64, paper: f64| format!("{:+.1} %", (value / paper - 1.0) * 100.0);
        let expected = format!(
            "| `{}` | {:.3} ± {:.3} | {seconds:.3} | {} | {:.0} | {of_paper:.0} | {} |",
            measured.row.name,
            latency.mean,
            latency.sd,
            difference(latency.mean, seconds),
            bytes.mean,
            difference(bytes.mean, of_paper),
        );
        assert_eq!(row(&page, &format!("`{}`", measured.row.name)), expected);
    }
    for hops in ["1", "2"] {
        let prefix = if hops == "1" { "1 hop, " } else { "2 hops, " };
        let ratio = |share: &str| {
            let start = format!("{prefix}{share} %: ");
            let check = evaluation.checks.iter().find(|check| check.check.starts_with(&start)).expect("a check");
            format!("{:.3}{}", check.value, if check.holds == Some(true) { "" } else { " (fails)" })
        };
        let cells: Vec<String> = ["10", "25", "50", "75", "100"].into_iter().map(ratio).collect();
        assert_eq!(row(&page, hops), format!("| {hops} | {} |", cells.join(" | ")));
    }
    // The part of the page from figures 6 and 7 on: its tables name the same rows as the first one.
    let (_, of_loss) = page.split_once("## Figures 6 and 7").expect("a section");
    let tls = all_peers(&evaluation.figure6).into_iter().map(|name| (&evaluation.figure6, name));
    let dtls = all_peers(&evaluation.figure7).into_iter().filter(|name| name.starts_with("dtls"));
    for (rows, name) in tls.chain(dtls.map(|name| (&evaluation.figure7, name))) {
        let growth = |loss, of: fn(&Measured) -> Statistics| growth(rows, name, loss, of).expect("both were run");
        let grown = [Measured::latency as fn(&Measured) -> Statistics, Measured::bytes]
            .map(|of| format!("{:.2} | {:.2}", growth(Loss::Fragments, of), growth(Loss::Packets, of)));
        let start = format!("| `{name}` | {} | {} |", grown[0], grown[1]);
        assert!(of_loss.contains(&start), "not on the page: {start}");
    }
    let failed = evaluation.checks.iter().filter(|check| check.holds == Some(false));
    let failed: Vec<Option<u8>> = failed.map(|check| check.figure).collect();
    assert_eq!(failed, [Some(5), Some(5), Some(10)], "the page names what does not hold");
}

/// The engine's rows on one hop without loss: the first four columns of the page's table.
#[test]
fn the_page_has_the_numbers_of_the_engine() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/sixtisch-paper.md");
    let page = std::fs::read_to_string(path).expect("the page is there");
    let (_, page) = page.split_once("## The engine").expect("a section");
    let source = include_str!("../../../scenarios/engine.toml");
    let mut file = ScenarioFile::parse("engine.toml", source).expect("a scenario");
    let is_of_table = |name: &str| name.ends_with("topology.hops 1, loss.fragments 0") && !name.contains("secp256r1");
    file.rows.retain(|row| is_of_table(&row.name));
    let measured = measure::all(&file, &Maker::default(), None, Keeps::Nothing).expect("it runs");
    let mut found = 0;
    for first in measured.iter().filter(|measured| measured.row.name.contains("cortex-m3")) {
        let other = first.row.name.replace("cortex-m3", "cortex-m4");
        let second = measured.iter().find(|measured| measured.row.name == other).expect("both devices are run");
        let words: Vec<&str> = first.row.name.split(", ").collect();
        let name = match words[0] {
            "identity" => format!("{}, `identity`", words[1]),
            "EDHOC" => format!("EDHOC, credentials by {}", words[1]),
            version => format!("{version}, `{}`", words[1]),
        };
        let frames = Statistics::of(second.connected().map(|outcome| outcome.air.frames as f64)).median;
        let bytes = (second.bytes().median.round() as u64).to_string();
        let (high, low) = bytes.split_at(bytes.len().saturating_sub(3));
        let bytes = if high.is_empty() { low.to_owned() } else { format!("{high},{low}") };
        let [a, b] = [first, second].map(|measured| measured.latency().median);
        let start = format!("| {name} | {a:.2} | {b:.2} | {bytes} | {frames:.0} |");
        assert!(row(page, &name).starts_with(&start), "not on the page: {start}");
        found += 1;
    }
    assert_eq!(found, 20, "every version and way, and EDHOC twice");
}
