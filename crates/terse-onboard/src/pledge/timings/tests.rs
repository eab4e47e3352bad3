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
