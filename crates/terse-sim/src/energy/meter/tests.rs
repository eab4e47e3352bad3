use super::super::Models;
use super::*;

const SLOT: Duration = Duration::from_millis(10);

/// The names of a radio and a processor as models.
fn models(radio: &str, processor: &str) -> (RadioModel, Processor) {
    let models = Models::built_in();
    (models.radio(radio).unwrap().clone(), models.processor(processor).unwrap().clone())
}

/// Two nodes and a slotframe of 101 slots: in slot 0 both share a cell, in slot 1 the first one sends to the second one. In
/// 1,000 slotframes, 100 beacons of 37 bytes from each, and 250 frames of 100 bytes, of which 10 are lost; after that of each the
/// sender does not listen longer.
fn two_nodes() -> [Meter; 2] {
    let [mut sender, mut receiver] = [Meter::default(); 2];
    for _ in 0..100 {
        for (from, to) in [(0, 1), (1, 0)] {
            let nodes = [&mut sender, &mut receiver];
            nodes[from].count(SlotKind::TxData, 37);
            nodes[to].count(SlotKind::RxData, 37);
        }
    }
    sender.count_slots(SlotKind::Idle, 800);
    receiver.count_slots(SlotKind::Idle, 800);
    (0..250).for_each(|_| sender.count(SlotKind::TxDataRxAck, 100));
    (0..240).for_each(|_| receiver.count(SlotKind::RxDataTxAck, 100));
    receiver.count_slots(SlotKind::Idle, 760);
    sender.compute(Duration::from_millis(1_500));
    [sender, receiver]
}

fn close(value: f64, expected: f64) {
    assert!((value - expected).abs() < 1e-6 * expected.abs().max(1.0), "{value}, not {expected}");
}

#[test]
fn two_nodes_by_hand_with_a_charge_for_each_slot() {
    let [sender, receiver] = two_nodes();
    assert_eq!((sender.active(), receiver.active()), (1_250, 2_000));
    let (radio, processor) = models("sixtisch-simulator", "cc2650");
    let energy = sender.energy(&radio, &processor, 101_000, SLOT);
    // 100 x 49.5 + 100 x 22.6 + 800 x 6.4 + 250 x 54.5 = 4950 + 2260 + 5120 + 13625 = 25955 µC; 1.5 s x 2.703 mA = 4054.5 µC.
    close(energy.slots.iter().sum(), 25_955.0);
    close(energy.computing, 4_054.5);
    close(energy.charge(), 30_009.5);
    assert_eq!((energy.sleep, energy.elapsed), (0.0, Duration::from_secs(1_010)));
    // 30.0095 mC in 1010 s are 29.712 µA; 2821.5 mAh last 94960 h, and at 3 V it is 90.0285 mJ.
    close(energy.current(), 30_009.5 / 1_010.0);
    close(energy.days(&Battery::AA), 2_821_500.0 / (30_009.5 / 1_010.0) / 24.0);
    assert!((energy.days(&Battery::AA) - 3_956.7).abs() < 0.1, "{}", energy.days(&Battery::AA));
    close(energy.millijoules(&Battery::AA), 90.0285);
    close(energy.duty_cycle, 1_250.0 / 101_000.0);
    let energy = receiver.energy(&radio, &processor, 101_000, SLOT);
    // 4950 + 2260 + (800 + 760) x 6.4 + 240 x 32.6 = 4950 + 2260 + 9984 + 7824 = 25018.
    close(energy.charge(), 25_018.0);
}

#[test]
fn two_nodes_by_hand_with_charges_by_length() {
    let [sender, receiver] = two_nodes();
    let (radio, processor) = models("cc2650", "cc2650");
    let energy = sender.energy(&radio, &processor, 101_000, SLOT);
    let beacons = 100.0 * (13.67152911 + 37.0 * 0.399234139478) + 100.0 * (21.816774572 + 37.0 * 0.258910335917);
    let idle = 800.0 * 21.816774572;
    let data = 250.0 * (36.5460914801 + 100.0 * 0.345405572975);
    close(energy.slots.iter().sum(), beacons + idle + data);
    assert!((energy.slots.iter().sum::<f64>() - 41_209.0).abs() < 1.0, "{:?}", energy.slots);
    // 99,750 slots of sleep at 16 µA: 15,960 µC. 1.5 s at 2.703 mA: 4,054.5 µC.
    close(energy.sleep, 15_960.0);
    close(energy.computing, 4_054.5);
    // On: 200 beacons of 256 + 37 x 32 = 1440 µs, 800 x 2200, 250 x (1256 + 3200): 3.162 s of 1010.
    close(energy.duty_cycle, 3.162 / 1_010.0);
    let energy = receiver.energy(&radio, &processor, 101_000, SLOT);
    let data = 240.0 * (38.3440721024 + 100.0 * 0.244439144648);
    close(energy.charge(), beacons + 1_560.0 * 21.816774572 + data + 99_000.0 * 0.16);
}

#[test]
fn longer_slots_have_more_sleep_and_longer_scans() {
    let (radio, processor) = models("cc2650", "cc2650");
    let mut meter = Meter::default();
    meter.count_slots(SlotKind::Scan, 10);
    meter.count_slots(SlotKind::Idle, 10);
    let energy = meter.energy(&radio, &processor, 100, 2 * SLOT);
    close(energy.slots[SlotKind::Scan as usize], 10.0 * 140.0);
    close(energy.slots[SlotKind::Idle as usize], 218.16774572);
    // 2 s, without ten slots of 20 ms and 10 ms of each of ten.
    close(energy.sleep, 1.7 * 16.0);
    close(energy.duty_cycle, (10.0 * 0.02 + 10.0 * 0.0022) / 2.0);
}

#[test]
fn a_part_of_the_time_is_the_difference_of_two_meters() {
    let [before, _] = two_nodes();
    let mut after = before;
    after.count(SlotKind::TxDataRxAck, 50);
    after.compute(Duration::from_secs(2));
    let part = after.since(&before);
    assert_eq!((part.active(), part.slots(SlotKind::TxDataRxAck), part.computing().as_secs()), (1, 1, 2));
    let (radio, processor) = models("cc2650", "cc2650");
    close(part.energy(&radio, &processor, 1, SLOT).slots[2], 36.5460914801 + 50.0 * 0.345405572975);
    assert_eq!(Meter::default().energy(&radio, &processor, 0, SLOT).current(), 0.0);
    assert_eq!(Meter::default().energy(&radio, &processor, 0, SLOT).days(&Battery::AA), f64::INFINITY);
}
