//! The page about whole networks: well-formed figures, with descriptions, and not too long.

use terse_sim::scenario::ScenarioFile;
use terse_sim::scenario::fleet::Fleet;

use crate::sim::fleet::made_up::{fleet, row};
use crate::sim::measure::Measured;
use crate::sim::report::of_rows;

fn page(measured: &[Measured], places: Option<Vec<(f64, f64)>>) -> String {
    let file = ScenarioFile { title: "Made-up networks".into(), base: Default::default(), rows: Vec::new() };
    of_rows(&file, measured, &|_| places.clone())
}

fn figures(page: &str) -> Vec<&str> {
    let begins: Vec<usize> = page.match_indices("<svg").map(|(at, _)| at).collect();
    begins.iter().map(|begin| &page[*begin..*begin + page[*begin..].find("</svg>").expect("an end") + 6]).collect()
}

/// Returns why a text is no XML, if so: tags that do not match, or a character that must be escaped.
fn mistake(xml: &str) -> Option<String> {
    let mut open = Vec::new();
    for part in xml.split('<').skip(1) {
        let Some((tag, text)) = part.split_once('>') else { return Some(format!("no end: {part}")) };
        if text.replace("&amp;", "").replace("&lt;", "").replace("&gt;", "").replace("&quot;", "").contains('&') {
            return Some(format!("not escaped: {text}"));
        }
        let name = tag.split([' ', '/']).find(|word| !word.is_empty()).unwrap_or("");
        if tag.matches('"').count() % 2 != 0 {
            return Some(format!("quotes: {tag}"));
        }
        match (tag.starts_with('/'), tag.ends_with('/')) {
            (true, _) if open.pop() != Some(name) => return Some(format!("not open: {name}")),
            (false, false) => open.push(name),
            _ => {}
        }
    }
    (!open.is_empty()).then(|| format!("still open: {open:?}"))
}

#[test]
fn figures_are_well_formed_and_described() {
    for devices in [1, 10, 100] {
        let (first, places) = fleet(devices, 1, 2.0, Some(9));
        let (second, _) = fleet(devices, 2, 1.0, None);
        let names = ["DTLS 1.3, full & slow", "DTLS 1.3, <compact>"];
        let measured = [row(names[0], vec![first]), row(names[1], vec![second])];
        for places in [None, Some(places)] {
            let page = page(&measured, places);
            for name in ["DTLS 1.3, full &amp; slow", "DTLS 1.3, &lt;compact&gt;"] {
                assert!(page.contains(name), "{name}");
            }
            // Curves of all rows, two figures of boxes, and five figures for each row.
            let figures = figures(&page);
            assert_eq!(figures.len(), 3 + 2 * 5);
            for svg in figures {
                assert_eq!(mistake(svg), None, "{svg}");
                assert!(svg.starts_with("<svg role=\"img\" aria-label=\""), "{}", &svg[..100]);
                assert!(!svg.contains("NaN") && !svg.contains("inf\""), "{svg}");
            }
            assert!(!page.contains("<th>") && !page.contains("cannot be drawn"));
            assert_eq!(page.matches("<th scope=\"row\">").count(), 2);
        }
    }
}

#[test]
fn devices_that_never_were_connected_have_another_mark() {
    let (whole, _) = fleet(40, 1, 1.0, None);
    let (broken, _) = fleet(40, 1, 1.0, Some(10));
    let crosses = |fleet: Fleet| page(&[row("a row", vec![fleet])], None).matches("stroke=\"#C00000\"").count();
    // Two lines each, and those of the legend.
    assert_eq!((crosses(whole), crosses(broken)), (2, 2 + 2 * 4));
}

#[test]
fn a_page_about_a_thousand_devices_is_short() {
    let measured: Vec<Measured> = ["full", "rfc7924", "compact", "identity", "resumed"]
        .into_iter()
        .map(|name| row(name, vec![fleet(1_000, 1, 1.0, Some(50)).0]))
        .collect();
    let page = page(&measured, Some(fleet(1_000, 1, 1.0, None).1));
    assert!(page.len() < 1_000_000, "{} bytes", page.len());
}

#[test]
fn devices_without_a_handshake_are_in_no_box() {
    let (mut fleet, _) = fleet(10, 1, 1.0, None);
    for device in &mut fleet.devices {
        (device.handshake, device.synchronised, device.joined) = (None, None, None);
    }
    let page = page(&[row("faded", vec![fleet])], None);
    assert!(!page.contains("seconds of the handshake") && page.contains("kB on the air"));
}

#[test]
fn rows_that_could_not_be_run_say_why() {
    let failed = Measured { failure: Some("the network was not formed".into()), ..row("never", Vec::new()) };
    let page = page(&[failed, row("empty", vec![Fleet::default()])], None);
    assert!(page.contains("the network was not formed") && !page.contains("NaN"));
    assert!(figures(&page).into_iter().all(|svg| mistake(svg).is_none()));
}
