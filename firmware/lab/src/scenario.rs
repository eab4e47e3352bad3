//! The ways to connect.

/// A way to connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scenario {
    pub(crate) link: Link,
    pub(crate) proof: Proof,
}

/// What carries a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    /// TLS over the UART.
    Uart,
    /// DTLS over Ethernet.
    Ethernet,
    /// DTLS over the UART, each datagram behind its length.
    Framed,
}

/// How a device proves who it is, and what it keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Proof {
    /// A certificate, and the cache.
    Cached,
    /// A certificate, and sessions.
    Resumed,
    /// A pre-shared key.
    Psk,
    /// An identity key.
    Identity,
    /// A raw public key.
    RawKey,
}

impl Scenario {
    pub(crate) const ALL: [Self; 8] = {
        let [uart, ethernet] = [Link::Uart, Link::Ethernet];
        [
            Self { link: uart, proof: Proof::Cached },
            Self { link: uart, proof: Proof::Resumed },
            Self { link: uart, proof: Proof::Psk },
            Self { link: uart, proof: Proof::Identity },
            Self { link: ethernet, proof: Proof::Cached },
            Self { link: ethernet, proof: Proof::Resumed },
            Self { link: ethernet, proof: Proof::Psk },
            Self { link: ethernet, proof: Proof::Identity },
        ]
    };

    /// The modes of the first connection and of later ones, as the engine's summary names them.
    pub(crate) const fn modes(self) -> [&'static str; 2] {
        match self.proof {
            Proof::Cached => ["full", "compact"],
            Proof::Resumed => ["full", "resumed"],
            Proof::Psk => ["psk", "psk"],
            Proof::Identity => ["identity", "identity"],
            Proof::RawKey => ["full", "full"],
        }
    }
}

impl Link {
    /// The name in a device's settings.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Uart => "uart",
            Self::Ethernet => "ethernet",
            Self::Framed => "framed",
        }
    }
}

impl Proof {
    /// The name of a device's folder.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Cached => "cached",
            Self::Resumed => "resumed",
            Self::Psk => "psk",
            Self::Identity => "identity",
            Self::RawKey => "raw-key",
        }
    }

    /// The line in a device's settings.
    pub(crate) const fn setting(self) -> &'static str {
        match self {
            Self::Cached => "cache=yes\n",
            Self::Resumed => "resume=yes\n",
            Self::Psk | Self::Identity | Self::RawKey => "",
        }
    }
}
