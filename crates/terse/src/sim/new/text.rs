//! The text of the scenario file: each key with a word on why it has its value.
//!
//! What must always hold: the file reads back, and nothing in it contradicts itself.

use terse_sim::scenario::EventKind;

use super::answers::{Answers, Place, Schedule};
use super::plan::{self, Fixed, in_words};

/// Returns the scenario. `fixed` is the fixed schedule, if it has one.
pub(super) fn of(answers: &Answers, fixed: Option<&Fixed>) -> String {
    let limit = plan::limit(answers.spread);
    let mut text = format!(
        "# {}.\n# Written by terse sim new; docs/planning.md says how to read what comes out, docs/scenarios.md has all keys.\n\n\
         title = \"{}\"\nrepetitions = {}  # runs of each row, each with other chances\npeers = \"engine\"\n\
         limit_ms = {}  # {}: a device that is not connected then counts as lost\n",
        title(answers),
        title(answers),
        answers.repetitions,
        milliseconds(limit),
        in_words(limit),
    );
    let mut add = |part: String| {
        text += "\n";
        text += &part;
    };
    add(topology(answers));
    add(radio(answers));
    add(schedule(answers, fixed));
    add(forming(answers, limit));
    add(packets(fixed));
    add("# What connects: both sides have two certificates of P-256, of which the root is not sent.\n\
         [engine]\ncertificates = \"p256x2\"\ngroup = \"x25519\"\nclient_device = \"cortex-m4\"\n"
        .into());
    add(dtls(fixed));
    add(event(answers));
    add(traffic(answers, fixed));
    add(reconnect(answers, fixed));
    add("# A row for each handshake.\n".into());
    for handshake in &answers.handshakes {
        let (version, mode) = (handshake.version, handshake.mode);
        add(format!(
            "[[row]]\nname = \"{}\"\nengine.version = \"{version}\"\nengine.mode = \"{mode}\"\n",
            handshake.name()
        ));
    }
    text
}

/// Returns what the scenario is about, in one line.
fn title(answers: &Answers) -> String {
    let devices = answers.devices;
    let place = match answers.place {
        Place::Tree { hops: 1, .. } => "a tree of one hop".into(),
        Place::Tree { hops, .. } => format!("a tree of {hops} hops"),
        Place::Field { side } => format!("a field of {side} by {side} m"),
        Place::Grid { spacing } => format!("a grid with {spacing} m between points"),
    };
    let loss = answers.loss.map_or_else(|| "loss by distance".into(), |loss| format!("{loss} % loss"));
    let schedule = match answers.schedule {
        Schedule::Msf => "MSF".into(),
        Schedule::Fixed { duty_cycle } => format!("{duty_cycle} % duty cycle"),
    };
    let event = match answers.event {
        EventKind::PowerCut => "a power cut",
        EventKind::ServerRestart => "a restart of the server",
        EventKind::Renewal => "new certificates",
        EventKind::LinkFade => "links that fade",
    };
    format!("{devices} devices, {place}, {schedule}, {loss}: {event}")
}

fn topology(answers: &Answers) -> String {
    let devices = answers.devices;
    let shape = match answers.place {
        Place::Tree { hops, branching } => format!(
            "tree = {devices}\nbranching = {branching}  # children of each mote: the least with which no device is more than {hops} \
             hops away\n"
        ),
        Place::Field { .. } => {
            format!(
                "motes = {devices}  # at random in the square of radio.side_m\nroot = \"centre\"  # or in the \"corner\"\n"
            )
        }
        Place::Grid { spacing } => {
            format!("grid = {devices}\nspacing_m = {spacing}\nroot = \"centre\"  # or in the \"corner\"\n")
        }
    };
    format!("[topology]\n{shape}clients = \"all\"  # every mote is a device that connects\n")
}

fn radio(answers: &Answers) -> String {
    match (answers.loss, answers.place) {
        (Some(loss), _) => format!(
            "[radio]\ndelivery = {}  # the share of frames that arrive on a link; the MAC sends the others again\n",
            share(100.0 - loss)
        ),
        (None, Place::Field { side }) => format!(
            "# The loss of each link follows from its length, and from walls that are drawn by lot.\n\
             [radio]\nmodel = \"pister-hack\"\nside_m = {side}\n"
        ),
        (None, _) => "# The loss of each link follows from its length, and from walls that are drawn by lot.\n\
                      [radio]\nmodel = \"pister-hack\"\n"
            .into(),
    }
}

fn schedule(answers: &Answers, fixed: Option<&Fixed>) -> String {
    let slot = format!("[schedule]\nslot_ms = {}\n", answers.slot_ms);
    match (answers.schedule, fixed) {
        (Schedule::Fixed { duty_cycle }, Some(fixed)) => format!(
            "# Each link has one cell each way in a slotframe of {:.2} s. It is that long because the mote with the most cells is\n\
             # awake for {duty_cycle} % of slots; motes without children are awake for less.\n\
             {slot}cells = [\"shared\", \"up\", \"down\"]\nduty_cycle = {}\n",
            fixed.slotframe,
            share(duty_cycle)
        ),
        _ => slot,
    }
}

fn forming(answers: &Answers, limit: u64) -> String {
    let function = match answers.schedule {
        Schedule::Msf => {
            "# The network forms itself: MSF gives each link as many cells as its traffic wants. The duty cycle is an outcome.\n\
             [forming]\nfunction = \"msf\"\n"
        }
        Schedule::Fixed { .. } => {
            "# The schedule stands from the beginning: after a power cut all motes are synchronised at once.\n[forming]\n"
        }
    };
    let until = match answers.event {
        EventKind::PowerCut => "for events other than a power cut",
        _ => "until all devices are connected for the first time",
    };
    format!("{function}limit_ms = {}  # {until}\n", milliseconds(limit))
}

fn packets(fixed: Option<&Fixed>) -> String {
    let reassembly = fixed.map_or(10.0, Fixed::reassembly_timeout) as u64;
    let why = match fixed {
        None => "what has not come after that does not come any more".into(),
        Some(_) if reassembly == 10 => "a packet of 12 fragments needs 12 slotframes, and others go in between".into(),
        Some(_) if reassembly > 60 => "30 slotframes, more than RFC 4944 allows: 12 fragments need that".to_owned(),
        Some(_) => "30 slotframes: a packet of 12 fragments needs 12, and others go in between".into(),
    };
    format!(
        "# The root is a larger machine: with the 20 frames of a mote it refuses most of what comes when all devices connect.\n\
         [pool]\nroot_frames = 200\n\n\
         [serial]\nup_ms = 0\ndown_ms = 0\n\n\
         [sixlowpan]\ngateway_compresses_udp = true\nreassembly_timeout_ms = {}  # {why}\n\
         reassembly_buffers = 8  # packets that a mote forwards in fragments at a time\n",
        milliseconds(reassembly)
    )
}

fn dtls(fixed: Option<&Fixed>) -> String {
    let first = fixed.map_or(60.0, Fixed::first_timeout) as u64;
    let longest = (4 * first).min(plan::LONGEST_TIMER as u64);
    let why = match fixed {
        None => "# A round trip takes many seconds with a cell a second on each hop: shorter timers repeat what is still under way.".into(),
        Some(_) if first == 10 => "# A flight both ways takes less than 10 s if one device connects; others take time, too.".into(),
        Some(fixed) => format!(
            "# Twice the time of 12 frames and the hops, a slotframe of {:.2} s each, and of what is lost: shorter timers repeat\n\
             # what is still under way.",
            fixed.slotframe
        ),
    };
    format!(
        "{why}\n[dtls]\nclient_timeout_ms = {}\nserver_timeout_ms = {}\nlongest_timeout_ms = {}\n",
        milliseconds(first),
        milliseconds(first),
        milliseconds(longest)
    )
}

fn event(answers: &Answers) -> String {
    let kind = answers.event.text();
    let rest = match answers.event {
        EventKind::PowerCut => "  # power returns to everything at the same time, and nobody is connected\n".into(),
        EventKind::ServerRestart => "  # the server has lost all connections\nlasts_ms = 60_000  # so long it is away\n".into(),
        EventKind::Renewal => format!(
            "  # every device gets a new certificate, and connects with it\nlasts_ms = {}  # in this time, one after the other\n",
            milliseconds(answers.spread)
        ),
        EventKind::LinkFade => "\nlasts_ms = 1_800_000  # links are weak for half an hour\n\
                                share = 0.5  # so many of them\ndelivery = 0.3  # what is left of their share of frames that arrive\n"
            .into(),
    };
    let observed = (2 * answers.report_every).clamp(600, 86_400);
    format!(
        "[event]\nkind = \"{kind}\"{rest}observed_ms = {}  # then the network is observed: batteries and reports\n",
        milliseconds(observed)
    )
}

fn traffic(answers: &Answers, fixed: Option<&Fixed>) -> String {
    let timeout = fixed.map_or(60.0, Fixed::report_timeout) as u64;
    let period = match answers.report_every {
        0 => "period_ms = 0  # there are no reports\n".into(),
        every => format!("period_ms = {}  # each device reports every {}\n", milliseconds(every), in_words(every)),
    };
    format!(
        "[traffic]\n{period}request_bytes = {}\ntimeout_ms = {}  # then a report is sent again, three times at most\n",
        answers.report_bytes,
        milliseconds(timeout)
    )
}

fn reconnect(answers: &Answers, fixed: Option<&Fixed>) -> String {
    let busy = match fixed {
        Some(fixed) => format!(
            "# The busiest link carries the handshakes of {} devices: at least {} s of its cells if they are full ones.\n",
            fixed.behind,
            fixed.busy().ceil()
        ),
        None => String::new(),
    };
    format!(
        "# Everybody at once is what a network bears least.\n{busy}[reconnect]\n\
         spread_ms = {}  # {}: each device waits for a random time up to this before it connects\n\
         wait_ms = 60_000  # after a handshake that failed; the time doubles with each failure\nlongest_wait_ms = 600_000\n",
        milliseconds(answers.spread),
        in_words(answers.spread)
    )
}

/// Returns seconds as milliseconds, with groups of digits.
fn milliseconds(seconds: u64) -> String {
    if seconds == 0 {
        return "0".into();
    }
    let digits = seconds.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push('_');
        }
        text.push(digit);
    }
    text + "_000"
}

/// Returns percent as a share, without the noise of binary fractions.
fn share(percent: f64) -> f64 {
    (percent * 1e6).round() / 1e8
}
