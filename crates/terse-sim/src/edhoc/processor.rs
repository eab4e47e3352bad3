//! What EDHOC computes takes the time of the host's device.

use alloc::sync::Arc;
use core::time::Duration;

use crate::computing::{Counts, Device, observe};
use crate::host::Sockets;

/// The processor of a side.
#[derive(Debug)]
pub(super) struct Processor {
    device: Option<Arc<Device>>,
    pub(super) computed: Counts,
    pub(super) time: Duration,
}

impl Processor {
    pub(super) fn new(device: Option<Arc<Device>>) -> Self {
        Self { device, computed: Counts::default(), time: Duration::ZERO }
    }

    /// Computes, and keeps the program busy for as long as that takes. Fails if the device has no time for an operation.
    pub(super) fn run<R>(
        &mut self,
        sockets: &mut Sockets<'_>,
        compute: impl FnOnce() -> Result<R, String>,
    ) -> Result<R, String> {
        let (result, counts) = observe(compute);
        if let Some(device) = &self.device {
            let time = device.time(&counts).map_err(|no_time| no_time.to_string())?;
            sockets.busy(time);
            self.time += time;
        }
        self.computed.add(&counts);
        result
    }
}
