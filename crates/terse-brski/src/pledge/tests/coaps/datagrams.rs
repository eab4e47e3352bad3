//! Onboarding in messages of CoAP: with Uri-Path-Abbrev or without it, and in blocks.

use terse_aws_lc::PROVIDER;

use super::super::pki::PKI;
use super::world::config;
use super::*;
use crate::certificate;
use crate::coap::{BlockSize, Client, ClientConfig, IncomingRequest, MAX_DATAGRAM, Server, ServerConfig};

/// A client and a server of CoAP, and the datagrams between them.
pub(super) struct Wire {
    config: (ClientConfig, ServerConfig),
    ends: Option<(Client, Server)>,
    /// The lengths of the datagrams: whether the client has sent it, and how long it is.
    pub(super) datagrams: Vec<(bool, usize)>,
}

impl Wire {
    fn new(path_form: PathForm, block_size: usize) -> Self {
        let client = ClientConfig { path_form, block_size: BlockSize::at_most(block_size), ..ClientConfig::default() };
        Self { config: (client, ServerConfig::default()), ends: None, datagrams: Vec::new() }
    }

    /// A new connection begins.
    pub(super) fn begin(&mut self, rng: &mut SeededRng) {
        let (client, server) = self.config;
        self.ends = Some((Client::new(client, rng).unwrap(), Server::new(server, rng).unwrap()));
    }

    /// Carries a request to the registrar, and the response back.
    pub(super) fn exchange(
        &mut self,
        now: Now,
        rng: &mut SeededRng,
        request: Request,
        registrar: &mut Registrar,
    ) -> Response {
        let (client, server) = self.ends.as_mut().unwrap();
        client.request(now, rng, request).unwrap();
        let mut datagram = [0; MAX_DATAGRAM];
        for _ in 0..1_000 {
            while let Some(len) = client.poll_transmit(now, &mut datagram) {
                self.datagrams.push((true, len));
                server.handle_input(now, &datagram[..len]);
            }
            while let Some((id, request)) = server.poll_request() {
                let response = registrar.answer(&incoming(request));
                server.respond(now, rng, id, response).unwrap();
            }
            while let Some(len) = server.poll_transmit(now, &mut datagram) {
                self.datagrams.push((false, len));
                client.handle_input(now, rng, &datagram[..len]);
            }
            if let Some(response) = client.poll_response() {
                return response.unwrap();
            }
        }
        panic!("no response");
    }
}

fn incoming(request: IncomingRequest) -> Request {
    assert!(request.query.is_empty());
    let IncomingRequest { method, resource, content_format, accept, payload, .. } = request;
    Request { method, content_format, accept, payload, ..Request::get(resource) }
}

fn onboard(wire: Wire) -> World {
    let mut world = World::with_wire(config(Coaps::default()), Registrar::new(), wire);
    world.run_to(Phase::Enrolled);
    assert_eq!(world.events.last(), Some(&Event::Enrolled { is_reported: true }));
    let credential = &world.stored.as_ref().unwrap().credential;
    let subject = |leaf| certificate::subject(leaf).unwrap().to_vec();
    assert_eq!(subject(&credential.chain()[0]), subject(&PKI.idevid.chain()[0]));
    assert!(credential.chain().iter().all(|certificate| certificate::domain_id(&PROVIDER, certificate).is_ok()));
    assert_eq!(world.registrar.requests.len(), 5);
    world
}

#[test]
fn a_pledge_enrolls_over_coap() {
    for path_form in [PathForm::Abbreviated, PathForm::WellKnown, PathForm::Short] {
        for block_size in [64, 512, 1_024] {
            let world = onboard(Wire::new(path_form, block_size));
            let longest = world.wire.unwrap().datagrams.into_iter().map(|(_, len)| len).max().unwrap();
            assert!(longest <= block_size + 64, "{longest} with blocks of {block_size}");
        }
    }
}

#[test]
fn abbreviated_paths_save_bytes() {
    let sent = |path_form| {
        let datagrams = onboard(Wire::new(path_form, 1_024)).wire.unwrap().datagrams;
        datagrams.into_iter().filter(|(is_from_client, _)| *is_from_client).map(|(_, len)| len).sum::<usize>()
    };
    assert!(sent(PathForm::Abbreviated) + 5 * 16 <= sent(PathForm::WellKnown));
}
