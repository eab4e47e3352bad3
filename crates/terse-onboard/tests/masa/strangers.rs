//! Strangers who hold connections, and what they cost.

use terse_onboard::masa::MasaService;
use tokio::net::TcpListener;
use tokio::sync::{oneshot, watch};

use super::scene::{Scene, issued, soon};
use crate::stranger::{MAX_HEAP, besiege, heap_of_each};

#[tokio::test]
async fn strangers_at_two_addresses_with_all_places_keep_no_registrar_out() {
    let mut scene = Scene::new().await;
    scene.config.limits.connections = 20;
    let masa = scene.start().await;
    let (address, (send, all_are_taken)) = (masa.address, oneshot::channel());
    let siege = tokio::spawn(async move { besiege(address, None, send).await });
    soon(all_are_taken).await.unwrap();
    issued(&scene, &scene.ask(masa.address, &scene.request("0123456789")).await);
    siege.abort();
    masa.stop().await;
}

/// The number of connections is 1,000 unless another one is configured.
#[tokio::test]
async fn an_unfinished_head_costs_a_bounded_memory() {
    let scene = Scene::new().await;
    for head in [1_000, 16_000, 390_000] {
        let config = scene.config.clone();
        let each = heap_of_each(60, head, None, || {
            let config = config.clone();
            async move {
                let service = MasaService::open(&config).await.unwrap();
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                let address = listener.local_addr().unwrap();
                let (stop, stopped) = watch::channel(false);
                tokio::spawn(service.serve(listener, stopped));
                (address, stop)
            }
        });
        let each = each.await;
        println!("a MASA: {each} B for a head of {head} B, {} MB for 1,000", each / 1_000);
        assert!(each <= MAX_HEAP, "{each}");
    }
}
