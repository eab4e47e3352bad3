use super::*;

const FILE: &str = r#"
[radio.r]
description = "A radio"
source = "A meter"
timeslot-us = 10_000
sleep-ma = 0.5
[radio.r.microcoulombs]
idle = 1
tx-data = 2.5
tx-data-rx-ack = { base = 3.0, byte = 0.5 }
rx-data = 4
rx-data-tx-ack = 5
scan = 6
[processor.p]
description = "A processor"
source = "Another meter"
active-ma = 7
"#;

#[test]
fn the_models_of_the_simulator_are_read() {
    let models = Models::parse(include_str!("../../../energy.toml")).unwrap();
    assert_eq!(models, Models::built_in());
    assert_eq!((models.radios().count(), models.processors().count()), (2, 1));
    let simulator = models.radio("sixtisch-simulator").unwrap();
    let charges = SlotKind::ALL.map(|kind| simulator.charge(kind));
    assert_eq!(charges.map(|charge| charge.base), [6.4, 49.5, 54.5, 22.6, 32.6, 6.4]);
    assert!(charges.iter().all(|charge| charge.byte == 0.0) && simulator.on(SlotKind::Idle).is_none());
    let cc2650 = models.radio("cc2650").unwrap();
    // The page on the simulator has these rounded: 0.345 len + 36.5, 0.244 len + 38.3, 21.8.
    let close = |kind, base: f64, byte: f64| {
        let PerSlot { base: b, byte: l } = cc2650.charge(kind);
        (b - base).abs() < 0.05 && (l - byte).abs() < 0.0005
    };
    assert!(close(SlotKind::TxDataRxAck, 36.5, 0.345) && close(SlotKind::RxDataTxAck, 38.3, 0.244));
    assert!(close(SlotKind::Idle, 21.8, 0.0));
    assert!(cc2650.note_on("scan").is_some() && cc2650.note_on("idle").is_none());
    for radio in models.radios() {
        assert!(!radio.source.is_empty() && radio.timeslot == Duration::from_millis(10));
    }
}

#[test]
fn what_is_wrong_with_a_file_is_said() {
    let models = Models::parse(FILE).unwrap();
    let radio = models.radio("r").unwrap();
    assert_eq!(radio.charge(SlotKind::TxDataRxAck).of(3, 100), 59.0);
    assert_eq!(models.processor("p").unwrap().active_milliamperes, 7.0);
    let says = |from: &str, to: &str, text: &str| {
        assert!(FILE.contains(from));
        let error = Models::parse(&FILE.replace(from, to)).unwrap_err().to_string();
        assert!(error.contains(text), "{error}");
    };
    says("scan = 6\n", "", "model r: there is no number for scan");
    says("idle = 1", "idle = -1", "model r: microcoulombs must be 0 or more");
    says("idle = 1", "idle = inf", "model r: microcoulombs");
    says("sleep-ma = 0.5", "sleep-ma = nan", "model r: sleep-ma");
    says("timeslot-us = 10_000", "timeslot-us = 0", "timeslot-us");
    says("active-ma = 7", "active-ma = -7", "model p: active-ma");
    says("[processor.p]", "[radio.r.notes]\nsend = \"guessed\"\n[processor.p]", "model r: there is a note on send");
    says("idle = 1", "idel = 1", "idel");
    says("source = \"A meter\"\n", "", "source");
}
