use prometheus_client::encoding::prometheus_text::encode;

use super::*;

fn text(registry: &Registry) -> String {
    let mut text = String::new();
    encode(&mut text, registry).unwrap();
    text
}

#[test]
fn all_series_are_there_from_the_start_and_counting_makes_none() {
    let mut registry = Registry::default();
    let values = [["a", "2xx"], ["a", "4xx"]];
    let counters = Series::counters(&mut registry, ("requests", "Requests"), ["resource", "status"], values);
    let seconds = Series::seconds(&mut registry, ("duration_seconds", "Seconds"), ["resource"], [["a"]]);
    let before = text(&registry);
    assert!(before.contains("requests_total{resource=\"a\",status=\"2xx\"} 0\n"), "{before}");
    counters.count(["a", "2xx"]);
    counters.count(["what a stranger sent", "2xx"]);
    counters.one(["what a stranger sent", "4xx"]).inc();
    seconds.took(["what a stranger sent"], Duration::from_secs(1));
    let after = text(&registry);
    assert!(after.contains("requests_total{resource=\"a\",status=\"2xx\"} 1\n"), "{after}");
    assert!(!after.contains("stranger"), "{after}");
    assert_eq!(before.lines().count(), after.lines().count());
}

#[test]
fn a_time_is_in_the_buckets_from_its_own_on() {
    let mut registry = Registry::default();
    let seconds = Series::seconds(&mut registry, ("duration_seconds", "Seconds"), ["resource"], [["a"]]);
    seconds.took(["a"], Duration::from_millis(300));
    let text = text(&registry);
    for (end, count) in [("0.25", 0), ("0.5", 1), ("30", 1), ("+Inf", 1)] {
        let lines: Vec<_> = text.lines().filter(|line| line.contains(&format!("le=\"{end}\""))).collect();
        assert!(matches!(&lines[..], [line] if line.ends_with(&format!(" {count}"))), "{end}: {text}");
    }
}
