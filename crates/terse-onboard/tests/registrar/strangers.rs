//! Strangers who hold connections, and what they cost.

use terse_net::Clock;
use terse_onboard::registrar::Service;
use tokio::sync::{oneshot, watch};

use super::world::{Device, SERIAL, World, authority, tls};
use crate::deadline::soon;
use crate::stranger::{MAX_HEAP, besiege, heap_of_each};

/// A stranger shows a certificate that it has made itself.
fn credential() -> terse_tls::Credential {
    tls(&Device::new(&authority("Other"), "stranger").idevid)
}

#[tokio::test]
async fn strangers_at_two_addresses_with_all_places_keep_no_device_out() {
    let world = World::new().await;
    world.change("[limits]", "[limits]\nconnections = 20");
    let registrar = world.start().await;
    let (address, (send, all_are_taken)) = (registrar.address, oneshot::channel());
    let siege = tokio::spawn(async move { besiege(address, Some(&credential()), send).await });
    soon(all_are_taken).await.unwrap();
    world.device(SERIAL).enrol(&registrar).await;
    siege.abort();
    registrar.stop().await;
}

/// The number of connections is 1,000 unless another one is configured.
#[tokio::test]
async fn an_unfinished_head_costs_a_bounded_memory() {
    let world = World::new().await;
    let stranger = credential();
    for head in [1_000, 16_000, 390_000] {
        let config = world.config();
        let each = heap_of_each(60, head, Some(&stranger), || {
            let config = config.clone();
            async move {
                let listening = Service::open(&config, Clock::new()).await.unwrap().listen().await.unwrap();
                let address = listening.address();
                let (stop, stopped) = watch::channel(false);
                tokio::spawn(listening.run(stopped));
                (address, stop)
            }
        });
        let each = each.await;
        println!("a registrar: {each} B for a head of {head} B, {} MB for 1,000", each / 1_000);
        assert!(each <= MAX_HEAP, "{each}");
    }
}
