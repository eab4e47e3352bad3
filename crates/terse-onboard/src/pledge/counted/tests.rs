use core::future::poll_fn;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UdpSocket;

use super::*;

#[tokio::test]
async fn what_was_carried_counts_and_nothing_else() {
    let counters = Counters::default();
    let (near, mut far) = tokio::io::duplex(4);
    let mut near = counters.count(near);
    // Only four bytes fit.
    assert_eq!(near.write(b"abcdef").await.unwrap(), 4);
    assert_eq!(counters.read(), (4, 0));
    far.write_all(b"xyz").await.unwrap();
    let mut read = [0; 8];
    assert_eq!(near.read(&mut read).await.unwrap(), 3);
    assert_eq!(counters.read(), (4, 3));
    let second = counters.count(far);
    drop(near);
    drop(second);
    assert_eq!(counters.read(), (4, 3));
}

#[tokio::test]
async fn datagrams_count_by_what_they_carry() {
    let (near, far) = tokio::join!(UdpSocket::bind("127.0.0.1:0"), UdpSocket::bind("127.0.0.1:0"));
    let (near, far) = (near.unwrap(), far.unwrap());
    near.connect(far.local_addr().unwrap()).await.unwrap();
    far.connect(near.local_addr().unwrap()).await.unwrap();
    let counters = Counters::default();
    let near = counters.count(near);
    assert_eq!(poll_fn(|cx| near.poll_send(cx, b"abcdef")).await.unwrap(), 6);
    far.send(b"xyz").await.unwrap();
    let mut read = [0; 8];
    let mut buffer = ReadBuf::new(&mut read);
    poll_fn(|cx| near.poll_recv(cx, &mut buffer)).await.unwrap();
    assert_eq!((buffer.filled(), counters.read()), (&b"xyz"[..], (6, 3)));
}
