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
    let evaluation = Evaluation::new(&RunOptions { seeds: None, jobs: None, html: None }).expect("it runs");
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
