//! The nodes of a whole network: devices, the gateway, and the server behind it.

use crate::engine::device::Device;
use crate::engine::many::Server;
use crate::gateway::Gateway;
use crate::host::Host;
use crate::network::{Node, is_node_within};

/// A node of a whole network.
pub(super) enum Station<'w, 'a> {
    Device(Box<Host<Device<'w, 'a>>>),
    Server(Box<Host<Server<'w, 'a>>>),
    Gateway(Box<Gateway>),
}

impl Station<'_, '_> {
    fn node(&self) -> &dyn Node {
        match self {
            Self::Device(host) => &**host,
            Self::Server(host) => &**host,
            Self::Gateway(gateway) => &**gateway,
        }
    }

    fn node_mut(&mut self) -> &mut dyn Node {
        match self {
            Self::Device(host) => &mut **host,
            Self::Server(host) => &mut **host,
            Self::Gateway(gateway) => &mut **gateway,
        }
    }
}

is_node_within!(['w, 'a] Station<'w, 'a>);
