use tokio::io::AsyncWriteExt as _;

use super::*;

#[test]
fn stages_are_summed_in_the_order_of_their_first_time() {
    let mut timings = Timings::begin();
    let begin = timings.since;
    let [connect, request] = [Phase::Connect, Phase::RequestVoucher].map(Stage::Phase);
    for stage in [connect, connect, request, Stage::Phase(Phase::Discover), connect, Stage::ConnectLdevid] {
        timings.enter(stage);
    }
    let stages: Vec<_> = timings.stages().map(|(stage, _)| stage.name()).collect();
    assert_eq!(stages, ["discover", "connect", "request_voucher"]);
    assert_eq!(timings.total(), timings.since.duration_since(begin), "no time is missing");
}

#[tokio::test]
async fn bytes_belong_to_the_stage_in_which_they_were_carried() {
    let mut timings = Timings::begin();
    let (near, far) = tokio::io::duplex(64);
    let [mut near, mut far] = [near, far].map(|end| timings.counters().count(end));
    let [connect, request] = [Phase::Connect, Phase::RequestVoucher].map(Stage::Phase);
    for (stage, bytes) in [(connect, &b"abc"[..]), (request, b"de"), (connect, b"f")] {
        timings.enter(stage);
        near.write_all(bytes).await.unwrap();
        tokio::io::AsyncReadExt::read_exact(&mut far, &mut vec![0; bytes.len()]).await.unwrap();
    }
    timings.enter(request);
    let carried: Vec<_> = timings.stages().map(|(stage, spent)| (stage.name(), spent.sent, spent.received)).collect();
    assert_eq!(carried, [("discover", 0, 0), ("connect", 4, 4), ("request_voucher", 2, 2)]);
}
