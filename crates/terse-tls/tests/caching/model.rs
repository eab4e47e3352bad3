//! Random sequences of connections, losses, restarts and changes of configuration, against the same client and server
//! without a cache: caching must never make a connection fail that would have been made, nor make one that would have
//! been refused, nor show the application another peer.

use std::sync::LazyLock;

use pki_types::CertificateRevocationListDer;
use terse_pki::{LeafOptions, Usage};
use terse_testkit::pair::{Failed, Side, at};
use terse_testkit::pki::{self, CLIENT_NAME, Pki, SERVER_NAME};
use terse_testkit::rng::{SeededRng, seeds};
use terse_tls::cache::Schemes;
use terse_tls::crypto::CryptoProvider;
use terse_tls::summary::Peer;
use terse_tls::{ClientAuthentication, Credential, Error, Summary, Trust};

use super::issued::{crl, crl_of_the_root, other_pki};
use super::world::*;

/// The faster provider.
const FAST: &CryptoProvider = &terse_aws_lc::PROVIDER;

const SEQUENCES: u64 = 300;
const STEPS: usize = 14;
const HOUR: u64 = 3600;

/// What can happen in a step: so many kinds, of which those from the second number on are changes.
pub(crate) const STEP_KINDS: usize = 25;
pub(crate) const CHANGES: usize = 11;

#[test]
fn model_caching_changes_nothing_but_the_bytes() {
    let (mut connections, mut cached) = (0, 0);
    for seed in seeds(SEQUENCES) {
        let mut model = Model { has_several: seed % 3 == 1, ..Model::new(seed) };
        if model.has_several {
            model.world.server.certificate_authorities(true);
            model.world.client.credentials(CHOICES.clients[4 + seed as usize / 3 % 4].clone());
        }
        (0..STEPS).for_each(|_| model.step());
        model.settle();
        connections += model.connections;
        cached += model.cached;
    }
    assert!(cached * 3 > connections, "only {cached} of {connections} connections cached anything");
}

/// What both sides may turn to. The first of each kind is where a sequence starts.
struct Choices {
    /// One, or several, of which the server chooses.
    clients: Vec<Vec<Credential>>,
    servers: Vec<Credential>,
    /// Of the other side's certificates, without revocation.
    trust: Vec<Trust>,
    /// CRLs that are in force together.
    crls: Vec<Vec<CertificateRevocationListDer<'static>>>,
}

static CHOICES: LazyLock<Choices> = LazyLock::new(|| {
    let (ours, other) = (Pki::shared(CHAIN), other_pki());
    let credentials = |usual: &terse_pki::Credential, foreign: &terse_pki::Credential, name, usage| {
        let leaf = LeafOptions { usage, ..LeafOptions::new(name, pki::validity()) };
        let renewed = ours.authority.renew(usual, &leaf).unwrap();
        let rekeyed = ours.authority.issue(&leaf).unwrap();
        [usual, &renewed, &rekeyed, foreign].map(|issued| pki::credential(FAST, issued))
    };
    let trust = ours.trust();
    // The identities differ, so that one that is taken for another one is seen.
    let foreign_name = "valve-3.plant.example";
    let foreign_client = LeafOptions { usage: Usage::Client, ..LeafOptions::new(foreign_name, pki::validity()) };
    let foreign_client = other.authority.issue(&foreign_client).unwrap();
    let [usual, renewed, rekeyed, foreign] = credentials(&ours.client, &foreign_client, CLIENT_NAME, Usage::Client);
    Choices {
        clients: vec![
            vec![usual.clone()],
            vec![renewed],
            vec![rekeyed],
            vec![foreign.clone()],
            vec![usual.clone(), foreign.clone()],
            vec![foreign.clone(), usual.clone()],
            vec![foreign.clone().only_for_named_authorities(), usual.clone()],
            vec![usual, foreign].into_iter().map(Credential::only_for_named_authorities).collect(),
        ],
        servers: credentials(&ours.server, &other.server, SERVER_NAME, Usage::Server).into(),
        trust: vec![
            trust.clone(),
            Trust::new(&[ours.root(), other.root()]).unwrap(),
            trust.clone().accept_without_clock(),
            other.trust(),
        ],
        crls: vec![
            vec![crl(&[], 180)],
            vec![crl(&[&ours.client], 180)],
            vec![crl(&[&ours.server], 180)],
            vec![crl_of_the_root(false), crl(&[&ours.client, &ours.server], 180)],
            vec![crl(&[], 180), crl_of_the_root(true)],
            vec![crl(&[], 2)],
            vec![crl(&[], 180), other.authority.crl(1, &[], pki::validity()).unwrap()],
            vec![Pki::new(CHAIN).authority.crl(1, &[], pki::validity()).unwrap()],
            vec![],
        ],
    }
});

/// Returns the trust in our CA, with the nth choice of CRLs.
fn with_crls(nth: usize) -> Trust {
    Pki::shared(CHAIN).trust().with_crls(&CHOICES.crls[nth]).unwrap()
}

/// A world, and what happened to it.
pub(crate) struct Model {
    pub(crate) world: World,
    pub(crate) rng: SeededRng,
    seed: u64,
    /// The client may have several credentials, and the server always names its CAs: that it ceases to is no change of its
    /// policy, and a Certificate that it has cached stays selected.
    has_several: bool,
    log: Vec<String>,
    /// With the CRLs that are in force, and shared by the sides that check revocation.
    checked: Trust,
    crls: usize,
    time: u64,
    pub(crate) connections: usize,
    pub(crate) cached: usize,
}

impl Model {
    pub(crate) fn new(seed: u64) -> Self {
        let schemes = if seed % 4 < 2 { Schemes::COMPACT } else { Schemes::BITHAC };
        let mut world = World::with(Setting { version: TLS13, schemes }, FAST, CHAIN);
        world.speak(&VERSIONS);
        let rng = SeededRng::new(seed);
        let checked = with_crls(0);
        if seed.is_multiple_of(2) {
            world.client.trust(checked.clone());
            world.server_trust(checked.clone());
        }
        Self {
            world,
            rng,
            seed,
            has_several: false,
            log: Vec::new(),
            checked,
            crls: 0,
            time: 0,
            connections: 0,
            cached: 0,
        }
    }

    /// Without revocation or with, and a clock or without.
    fn trusts(&self) -> Vec<Trust> {
        let checked = [self.checked.clone(), self.checked.clone().accept_without_clock()];
        CHOICES.trust.iter().cloned().chain(checked).collect()
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.rng.below(limit)
    }

    /// One of `choices`, half of the time the first.
    pub(crate) fn pick<T: Clone>(&mut self, what: &str, choices: &[T]) -> T {
        let nth = if self.below(2) == 0 { 0 } else { self.below(choices.len()) };
        self.log.push(format!("{what} {nth}"));
        choices[nth].clone()
    }

    fn step(&mut self) {
        match self.below(STEP_KINDS) {
            0..8 => self.connect(),
            8..10 => self.lose(),
            10 => self.in_parallel(),
            nth => self.change(nth),
        }
    }

    /// Makes a change that lasts, by a number from [`CHANGES`].
    pub(crate) fn change(&mut self, nth: usize) {
        match nth {
            11 => {
                let own = self.pick("server certificate", &CHOICES.servers);
                self.world.server.edit_credentials(|all| all[0] = own);
            }
            12 => {
                let choices = if self.has_several { &CHOICES.clients[..] } else { &CHOICES.clients[..4] };
                let own = self.pick("client certificates", choices);
                self.world.client.credentials(own);
            }
            13 => {
                let trust = self.pick("client trust", &self.trusts());
                self.world.client.trust(trust);
            }
            14 => self.change_client_authentication(),
            15 => self.change_clocks(),
            16 => {
                self.log.push("client restarts".into());
                self.world.restart_client();
                self.forget_issuers();
            }
            17 => {
                let with_store = self.pick("server restarts", &[true, false]);
                self.world.restart_server(with_store);
                self.forget_issuers();
            }
            22..25 => self.replace_crls(),
            18 => self.change_virtual_host(),
            19 | 20 => self.change_versions(),
            _ => {
                let all = [Schemes::COMPACT, Schemes::BITHAC, Schemes::RFC7924, Schemes::OFF];
                let (client, server) = (self.pick("client scheme", &all), self.pick("server scheme", &all));
                self.world.set_schemes(client, server);
            }
        }
    }

    fn change_client_authentication(&mut self) {
        let trust = self.pick("server trust", &self.trusts());
        let policies = [
            ClientAuthentication::Required(trust.clone()),
            ClientAuthentication::Optional(trust),
            ClientAuthentication::None,
        ];
        let policy = self.pick("client authentication", &policies);
        self.world.server.client_authentication(policy);
        if !self.has_several {
            let has_names = self.pick("CA names", &[false, true]);
            self.world.server.certificate_authorities(has_names);
        }
    }

    /// Configures new CRLs, while configurations that check them stay in use.
    fn replace_crls(&mut self) {
        let all: Vec<_> = (0..CHOICES.crls.len()).collect();
        self.crls = self.pick("CRLs", &all);
        self.checked.revocation().unwrap().replace(&CHOICES.crls[self.crls]).unwrap();
    }

    /// A process that starts anew loads the CRLs that are in force, and knows none of those who issued them but the root.
    fn forget_issuers(&mut self) {
        self.checked = with_crls(self.crls);
        if self.world.client.config().trust().revocation().is_some() {
            self.world.client.trust(self.checked.clone());
        }
        if self.world.server.config().client_authentication().trust().is_some_and(|trust| trust.revocation().is_some())
        {
            self.world.server_trust(self.checked.clone());
        }
    }

    fn change_clocks(&mut self) {
        self.time += self.pick("hours", &[1, 23, 24, 24 * 90]) * HOUR;
        let clocks = [at(self.time), no_clock(), at_boot()];
        self.world.client_clock = self.pick("client clock", &clocks);
        self.world.server_clock = self.pick("server clock", &clocks);
    }

    /// Another name that the client sends, which our servers all answer to with the same certificate; or another port.
    fn change_virtual_host(&mut self) {
        let has_name = self.pick("SNI", &[true, false]);
        self.world.client.send_server_name(has_name);
        self.world.address.port = self.pick("port", &[8883, 8884]);
    }

    /// Has one side or both speak another version, or two.
    fn change_versions(&mut self) {
        let all = [&VERSIONS[..], &[TLS12], &[TLS13]];
        let choice = self.pick("client versions", &all);
        self.world.client.versions(choice.to_vec());
        let choice = self.pick("server versions", &all);
        self.world.server.versions(choice.to_vec());
    }

    /// Returns what the same two sides do without a cache.
    fn without_cache(&mut self) -> Result<[Peer; 2], Failed> {
        let caches = (self.world.client.edit_cache(Option::take), self.world.server.edit_cache(Option::take));
        let result = self.world.connect().map(|done| [done.client.peer, done.server.peer]);
        self.world.client.cache(caches.0);
        self.world.server.cache(caches.1);
        result
    }

    fn connect(&mut self) {
        self.log.push("connect".into());
        let expected = self.without_cache();
        let result = self.world.connect().map(|done| [done.client, done.server]);
        self.check(expected, result);
    }

    /// Begins a second connection while the first one is on its way.
    fn in_parallel(&mut self) {
        self.log.push("two connections".into());
        let expected = self.without_cache();
        let mut links = [self.world.begin(), self.world.begin()];
        let begun = links.each_mut().map(|link| link.carry_on(Side::Client));
        for (mut link, begun) in links.into_iter().zip(begun) {
            let result = begun.and_then(|()| link.run_until(Until::Data)).map(|()| link.done());
            self.check(expected.clone(), result.map(|done| [done.client, done.server]));
        }
    }

    pub(crate) fn note(&mut self, what: String) {
        self.log.push(what);
    }

    /// Returns the state, for whoever looks why a sequence failed.
    pub(crate) fn context(&self) -> String {
        format!("seed {}: {}", self.seed, self.log.join(", "))
    }

    pub(crate) fn check(&mut self, expected: Result<[Peer; 2], Failed>, result: Result<[Summary; 2], Failed>) {
        let context = || self.context();
        match (expected, result) {
            (Ok(expected), Ok([client, server])) => {
                assert_eq!(client.cached, server.cached, "{}", context());
                for (expected, peer) in expected.iter().zip([&client.peer, &server.peer]) {
                    assert_eq!(peer.identity, expected.identity, "{}", context());
                    assert_eq!(peer.time_unchecked, expected.time_unchecked, "{}", context());
                }
                self.connections += 1;
                self.cached += usize::from(!client.cached.is_empty());
            }
            (Err(expected), Err(failed)) => assert_eq!(failed, expected, "{}", context()),
            (Ok(_), Err(failed)) => panic!("failed, though not without a cache: {failed:?}; {}", context()),
            (Err(expected), Ok(_)) => panic!("accepted, though not without a cache: {expected:?}; {}", context()),
        }
    }

    /// Makes a connection that dies on its way, one way or another.
    fn lose(&mut self) {
        use Until::{ClientFlight, ClientHello, Commit, Data, ServerFlight};
        let until = self.pick("lost", &[ClientFlight, ClientHello, ServerFlight, Commit, Data]);
        let end = self.pick("end", &["vanishes", "times out", "is closed", "crashes"]);
        let mut link = self.world.begin();
        if link.run_until(until).is_err() {
            return; // refused on its way; whether that is right is for `connect` to say
        }
        match end {
            "times out" => link.time_out(),
            "is closed" => {
                let now = link.pair.now;
                assert_eq!(link.pair.client.handle_end_of_input(now), Err(Error::Truncated));
            }
            "crashes" => self.world.restart_client(),
            _ => {}
        }
    }

    /// Checks that caching is well again once both sides are, whatever happened.
    fn settle(&mut self) {
        if self.heal() {
            // At most: the connections that stand for a day without a clock, one on trial, one without a ticket.
            let is_cached = |_| {
                let done = self.world.connect().unwrap();
                self.world.is_cached(&done.client)
            };
            assert!((0..24 + 3).any(is_cached), "{}", self.context());
        }
        self.connect();
    }

    /// Puts both sides back to the start, a day later. Returns `false` if too much time has passed.
    pub(crate) fn heal(&mut self) -> bool {
        self.time += 25 * HOUR;
        if self.time > 170 * 24 * HOUR {
            return false; // all certificates have expired, or will before this is over
        }
        let healthy = World::with(TLS13, FAST, CHAIN);
        let world = &mut self.world;
        let (client, server) = (healthy.client.config(), healthy.server.config());
        world.client.trust(client.trust().clone()).credentials(client.credentials()).send_server_name(true);
        world.server.credentials(server.credentials()).certificate_authorities(self.has_several);
        world.server.client_authentication(server.client_authentication().clone());
        world.address = healthy.address;
        if self.seed.is_multiple_of(3) {
            self.checked.revocation().unwrap().replace(&CHOICES.crls[0]).unwrap();
            world.client.trust(self.checked.clone());
            world.server_trust(self.checked.clone());
        }
        let schemes = world.setting().schemes;
        world.set_schemes(schemes, schemes);
        world.speak(if self.seed.is_multiple_of(2) { &[TLS12] } else { &VERSIONS });
        world.set_clocks(self.time);
        true
    }
}
