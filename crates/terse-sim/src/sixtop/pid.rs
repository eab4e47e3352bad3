//! A scheduling function with a PID controller, which reacts to bursts faster than MSF.
//!
//! The idea is that of Domingo-Prieto, Chang, Vilajosana and Watteyne, "Distributed PID-based Scheduling for 6TiSCH Networks"
//! (2016), to which the paper on TLS over 6TiSCH points in section 4.3. That paper gives neither equations nor gains. What is here
//! is a discrete PID controller of our own for the number of cells to the parent:
//!
//! ```text
//! demand   = cells used in the period + frames that wait at its end      per slotframe
//! error    = demand - cells                                             0 if it is from -spare to 0
//! output   = kp * error + ki * sum of errors + kd * (error - last error)
//! cells   += output, rounded
//! ```
//!
//! The demand is what would have left the queue empty. Frames that come late in the period count as waiting, so that under
//! steady traffic some more cells are kept than it needs: 9 for 6 frames a slotframe. The gains were chosen by us, for a loop that settles without swinging:
//! without the integral part errors follow e' = (1 - kp - kd) e + kd e", whose roots must lie within the unit circle; with 0.75
//! and 0.1 they are 0.4 and -0.25. The small integral part takes away what rounding leaves.
//!
//! Everything else (first cells, cells from the parent, parents, relocation, errors) is MSF's.

use super::Asn;
use super::cells::NegotiatedCell;
use super::message::{CellOptions, Command};
use super::msf::{MacTiming, Msf, MsfOptions};
use super::scheduling::{Action, ReceivedIn, SchedulingFunction, View};
use super::transaction::Conclusion;

/// The options of the PID controller.
#[derive(Clone, Debug, PartialEq)]
pub struct PidOptions {
    /// The proportional gain, in cells for a missing cell.
    pub kp: f64,
    /// The integral gain.
    pub ki: f64,
    /// The derivative gain.
    pub kd: f64,
    /// How many slotframes a period has.
    pub period_slotframes: u16,
    /// How many cells more than needed are kept.
    pub spare_cells: u8,
    /// The most cells that are added or deleted at once.
    pub most_at_once: u8,
    /// MSF's own options. Its adaptation to traffic is used for the cells from the parent alone.
    pub msf: MsfOptions,
}

impl PidOptions {
    /// Our gains.
    pub const DEFAULT: Self = Self {
        kp: 0.75,
        ki: 0.05,
        kd: 0.1,
        period_slotframes: 1,
        spare_cells: 1,
        most_at_once: 8,
        msf: MsfOptions::RFC_9033,
    };
}

/// The state of the controller, around MSF.
#[derive(Debug)]
pub(crate) struct Pid {
    options: PidOptions,
    msf: Msf,
    period: u64,
    next: Asn,
    /// Cells used in this period.
    used: u32,
    sum: f64,
    last: f64,
}

impl Pid {
    /// Creates the scheduling function of a node that was switched on, with this slot for its AutoRxCell.
    pub(crate) fn new(options: &PidOptions, timing: &MacTiming, auto_rx: u16) -> Self {
        let msf = Msf::new(&options.msf, timing, auto_rx).without_adapting_tx();
        let period = u64::from(options.period_slotframes.max(1)) * u64::from(timing.slotframe_length.max(1));
        Self { options: options.clone(), msf, period, next: Asn(period), used: 0, sum: 0.0, last: 0.0 }
    }

    /// Returns how many cells are to be added, or deleted, after a period.
    fn control(&mut self, demand: f64, cells: usize) -> i8 {
        let options = &self.options;
        let error = demand - cells as f64;
        let is_enough = error <= 0.0 && error >= -f64::from(options.spare_cells);
        let error = if is_enough { 0.0 } else { error };
        let most = f64::from(options.most_at_once);
        // While the output is at its limit, more of the sum would only delay the way back.
        self.sum = if is_enough { 0.0 } else { (self.sum + error).clamp(-most, most) };
        let output = options.kp * error + options.ki * self.sum + options.kd * (error - self.last);
        self.last = error;
        output.round().clamp(-most, most) as i8
    }
}

impl SchedulingFunction for Pid {
    fn sfid(&self) -> u8 {
        SFID
    }

    fn timeout(&self) -> u64 {
        self.msf.timeout()
    }

    fn settle(&mut self, view: View<'_>) {
        self.msf.settle(view);
    }

    fn changed(&mut self, view: View<'_>) {
        self.msf.changed(view);
    }

    fn set_parent(&mut self, view: View<'_>, parent: Option<u16>) {
        (self.used, self.sum, self.last) = (0, 0.0, 0.0);
        self.msf.set_parent(view, parent);
    }

    fn transmitted(&mut self, view: View<'_>, cell: &NegotiatedCell) {
        self.used += u32::from(Some(cell.peer) == self.msf.parent());
        self.msf.transmitted(view, cell);
    }

    fn received(&mut self, view: View<'_>, peer: u16, cell: ReceivedIn) {
        self.msf.received(view, peer, cell);
    }

    fn ended(&mut self, view: View<'_>, conclusion: &Conclusion) {
        self.msf.ended(view, conclusion);
    }

    fn cleared(&mut self, view: View<'_>, peer: u16) {
        self.msf.cleared(view, peer);
    }

    fn poll_timeout(&self, view: View<'_>) -> Option<Asn> {
        let own = self.msf.parent().map(|_| self.next);
        self.msf.poll_timeout(view).into_iter().chain(own).min()
    }

    fn handle_timeout(&mut self, view: View<'_>) {
        if self.next <= view.now {
            if let Some(parent) = self.msf.parent() {
                let cells = view.cells.matching(parent, CellOptions::TX).count();
                let slotframes = f64::from(self.options.period_slotframes.max(1));
                let demand = (f64::from(self.used) + f64::from(view.waiting)) / slotframes;
                let wanted = self.control(demand, cells);
                self.msf.want_tx(wanted);
            }
            self.used = 0;
            // Without a parent nobody asks for timeouts: periods that nobody needed are left out.
            self.next = Asn((view.now.0 / self.period + 1) * self.period);
        }
        self.msf.handle_timeout(view);
    }

    fn poll_action(&mut self, view: View<'_>, may_begin: &dyn Fn(u16, Command) -> bool) -> Option<Action> {
        self.msf.poll_action(view, may_begin)
    }
}

/// An identifier that nobody has registered (RFC 8480, 6.2.5): all nodes of the network have the same scheduling function.
const SFID: u8 = 0xFE;
