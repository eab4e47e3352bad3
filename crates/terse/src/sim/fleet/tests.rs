//! What is said about whole networks.

#[test]
fn look() {
    use super::made_up::{fleet, row};
    for devices in [10, 100, 1000] {
        let mut rows = Vec::new();
        let mut places = Vec::new();
        for (name, pace, missing) in [("DTLS 1.3, full, topology.hops 3", 3.0, Some(31)), ("DTLS 1.3, rfc7924", 2.0, None), ("DTLS 1.3, compact", 1.2, None), ("DTLS 1.3, identity", 1.4, None), ("DTLS 1.3, resumed", 1.0, None)] {
            let made: Vec<_> = (0..3).map(|seed| fleet(devices, seed, pace, missing)).collect();
            places.push(made[0].1.clone());
            rows.push(row(name, made.into_iter().map(|made| made.0).collect()));
        }
        println!("{}", super::tables("A title", &rows));
        let file = terse_sim::scenario::ScenarioFile { title: "Made up".into(), base: Default::default(), rows: Vec::new() };
        let of = |measured: &crate::sim::measure::Measured| (measured.row.name != "DTLS 1.3, compact").then(|| places[0].clone());
        std::fs::write(format!("/tmp/look-{devices}.html"), crate::sim::report::of_rows(&file, &rows, &of)).unwrap();
        std::fs::write(format!("/tmp/look-{devices}.json"), serde_json::to_string_pretty(&crate::sim::export::Object::new(&rows[0])).unwrap()).unwrap();
    }
}
