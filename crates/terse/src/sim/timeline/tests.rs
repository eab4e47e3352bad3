//! Timelines have a mark for each frame, by what became of it.

use core::time::Duration;

use super::*;

fn frame(milliseconds: u64, sender: u16, direction: Direction) -> TimelineFrame {
    TimelineFrame {
        at: Duration::from_millis(milliseconds),
        sender,
        direction,
        kind: Kind::Data,
        attempt: 0,
        has_arrived: true,
        bytes: 100,
        is_of_handshake: true,
    }
}

fn colours(svg: &str) -> [usize; 4] {
    let count = |RGBColor(red, green, blue): RGBColor| {
        svg.matches(&format!("stroke=\"#{red:02X}{green:02X}{blue:02X}\"")).count()
    };
    [UP, DOWN, LOST, NETWORK].map(count)
}

#[test]
fn each_frame_has_its_mark() {
    let empty = Timeline { motes: vec![2, 1, 0], frames: Vec::new() };
    let before = colours(&drawn(&empty).expect("it can be drawn"));
    let frames = vec![
        frame(10, 2, Direction::Up),
        TimelineFrame { has_arrived: false, ..frame(20, 1, Direction::Up) },
        TimelineFrame { attempt: 1, ..frame(35, 1, Direction::Up) },
        frame(50, 0, Direction::Down),
        TimelineFrame { kind: Kind::Beacon, is_of_handshake: false, ..frame(60, 1, Direction::Down) },
    ];
    let timeline = Timeline { frames, ..empty };
    let svg = drawn(&timeline).expect("it can be drawn");
    let after = colours(&svg);
    let more: Vec<usize> = after.iter().zip(before).map(|(after, before)| after - before).collect();
    // A cross has two lines.
    assert_eq!(more, [3, 1, 2, 1]);
    for name in ["root", "mote 1", "client (2)"] {
        assert!(svg.contains(name), "{name}");
    }
    assert!(!svg.contains("NaN"));
    let description = described("a row", &timeline);
    assert!(
        description
            .ends_with("3 frames to the root and 1 from it, of which 1 are repetitions by the MAC and 1 were lost")
    );
}

#[test]
fn a_mote_that_joins_the_way_later_has_a_lane() {
    let timeline = Timeline { motes: vec![1, 0], frames: vec![frame(10, 7, Direction::Up)] };
    assert!(drawn(&timeline).expect("it can be drawn").contains("mote 7"));
}

#[test]
fn axes_have_few_marks() {
    for (last, expected) in [(0.05, 0.1), (1.0, 0.1), (3.7, 0.5), (12.0, 1.0), (70.0, 10.0), (5_000.0, 500.0)] {
        assert!((step(last) - expected).abs() < 1e-9, "{last}: {}", step(last));
    }
}
