use alloc::sync::Arc;

use terse_aws_lc::PROVIDER;
use terse_brski::pledge::{Command, ConnectionId, Input, Pledge, PledgeConfig, Target};
use terse_net::OsRng;
use terse_pki::{Authority, AuthorityOptions, IdevidOptions, Validity};
use terse_tls::{Credential, Now};

use super::*;

const START: Instant = Instant(0);

fn place(number: usize) -> Place {
    Place::new(format!("host{number}.example"), 8443)
}

/// Places of which the machine knows as many as it tries.
fn places(count: usize) -> Places {
    let mut places = Places::default();
    for number in 0..count {
        let news = places.add(place(number), START);
        assert_eq!(news.gone, None);
        assert_eq!(news.found.is_some(), number < MAX_PROXIES);
    }
    places
}

fn number_of(places: &Places, number: usize) -> Proxy {
    places.known.iter().find(|known| known.place == place(number)).unwrap().proxy
}

#[test]
fn a_place_keeps_its_number_and_no_number_comes_twice() {
    let mut places = Places::default();
    let first = places.add(place(1), START).found.unwrap();
    assert_eq!(places.add(place(1), START), News::default());
    assert_eq!(places.remove(&place(1)), Some(News { gone: Some(first), found: None }));
    assert_eq!((places.remove(&place(1)), places.of(first)), (None, None));
    let again = places.add(place(1), START).found.unwrap();
    assert_ne!(again, first);
    assert_eq!(places.of(again), Some(&place(1)));
}

#[test]
fn a_flood_of_places_is_bounded_and_makes_those_be_forgotten_that_failed_most() {
    let mut places = places(MAX_PLACES);
    let bad = number_of(&places, 3);
    for _ in 0..3 {
        places.failed(bad, START);
    }
    let news = places.add(place(MAX_PLACES), START);
    assert_eq!((news.gone, places.of(bad)), (Some(bad), None));
    for number in MAX_PLACES + 1..500 {
        places.add(place(number), START);
        assert_eq!(places.known.len(), MAX_PLACES);
        assert!(places.known.iter().filter(|known| known.is_offered).count() <= MAX_PROXIES);
    }
}

#[test]
fn false_places_that_fail_give_way_until_the_true_one_has_its_turn() {
    let mut places = places(MAX_PLACES - 1);
    places.add(place(1_000), START);
    let real = number_of(&places, 1_000);
    let mut offered: VecDeque<_> = (0..MAX_PROXIES).map(|number| number_of(&places, number)).collect();
    let mut now = START;
    let turns = (0..2 * MAX_PLACES).position(|_| {
        now = Instant(now.0 + 3_000);
        let failed = offered.pop_front().unwrap();
        let news = places.failed(failed, now);
        assert_eq!(news.gone, Some(failed));
        offered.extend(news.found);
        news.found == Some(real)
    });
    assert_eq!(turns, Some(MAX_PLACES - MAX_PROXIES - 1), "each had one turn");
}

#[test]
fn a_place_that_failed_comes_back_after_ever_longer_times() {
    let mut places = places(MAX_PROXIES + 1);
    let first = number_of(&places, 0);
    let spare = number_of(&places, MAX_PROXIES);
    assert_eq!(places.failed(first, START), News { gone: Some(first), found: Some(spare) });
    // Before 5 s nobody else is due: the machine keeps the one that has failed, with a back-off of its own.
    assert_eq!(places.failed(spare, Instant(4_999)), News::default());
    assert_eq!(places.failed(spare, Instant(5_000)), News { gone: Some(spare), found: Some(first) });
    assert_eq!(places.failed(first, Instant(5_001)), News::default(), "the other one is due after 10 s more");
    assert_eq!(places.failed(first, Instant(15_000)), News { gone: Some(first), found: Some(spare) });
}

#[test]
fn registrars_that_let_the_pledge_wait_keep_nobody_out() {
    let mut places = places(MAX_PROXIES + 1);
    let numbers: Vec<_> = (0..=MAX_PROXIES).map(|number| number_of(&places, number)).collect();
    for number in &numbers[..MAX_PROXIES - 1] {
        assert_eq!(places.waits(*number, START), News::default(), "there are others to try");
    }
    let news = places.waits(numbers[MAX_PROXIES - 1], START);
    assert_eq!(news, News { gone: Some(numbers[0]), found: Some(numbers[MAX_PROXIES]) });
    // Alone, they are waited for.
    let mut places = self::places(2);
    let numbers = [number_of(&places, 0), number_of(&places, 1)];
    assert_eq!(numbers.map(|number| places.waits(number, START)), [News::default(); 2]);
}

#[test]
fn a_place_that_is_gone_makes_room() {
    let mut places = places(MAX_PROXIES + 1);
    let (first, spare) = (number_of(&places, 0), number_of(&places, MAX_PROXIES));
    assert_eq!(places.remove(&place(0)), Some(News { gone: Some(first), found: Some(spare) }));
}

/// The machine, and the places that it knows by numbers, at a time of their own.
struct Driven {
    places: Places,
    pledge: Pledge,
    now: Instant,
    connection: Option<(ConnectionId, Proxy)>,
}

impl Driven {
    fn new(places: Places) -> Self {
        let options = AuthorityOptions::new("p256x2".parse().unwrap(), Validity::without_end(0));
        let maker = Authority::new(&AuthorityOptions { key_identifiers: true, ..options }).unwrap();
        let idevid = maker.issue_idevid(&IdevidOptions::new("WI-3005", 0)).unwrap();
        let key = PROVIDER.load_key(idevid.key()).unwrap();
        let credential = Credential::new(idevid.chain().to_vec(), key).unwrap();
        let config = PledgeConfig::new(&PROVIDER, credential, vec![maker.root().clone()]).unwrap();
        Self { places, pledge: Pledge::new(Arc::new(config)), now: START, connection: None }
    }

    fn give(&mut self, input: Input<'_>) {
        for command in self.pledge.handle(Now::new(self.now, None), &mut OsRng, input) {
            if let Command::Connect { connection, to: Target::Proxy(proxy), .. } = command {
                self.connection = Some((connection, proxy));
            }
        }
    }

    fn tell(&mut self, News { gone, found }: News) {
        gone.into_iter().for_each(|gone| self.give(Input::Gone(gone)));
        found.into_iter().for_each(|found| self.give(Input::Found(&[found])));
    }

    /// Lets the attempt under way fail, if there is one, and returns the proxy of the next one.
    fn next_attempt(&mut self) -> Option<Proxy> {
        if let Some((connection, _)) = self.connection.take() {
            self.give(Input::Lost(connection));
        }
        self.now = self.pledge.poll_timeout()?.max(self.now);
        self.give(Input::Timer);
        self.connection.map(|(_, proxy)| proxy)
    }
}

#[test]
fn a_place_that_is_gone_during_its_attempt_leaves_its_turn_to_another() {
    let mut driven = Driven::new(places(MAX_PROXIES + 1));
    let offered = (0..MAX_PROXIES).map(|number| number_of(&driven.places, number)).collect::<Vec<_>>();
    offered.iter().for_each(|proxy| driven.give(Input::Found(&[*proxy])));
    let last = number_of(&driven.places, MAX_PROXIES);
    assert_eq!(driven.connection.map(|(_, proxy)| proxy), Some(offered[0]));
    let news = driven.places.remove(&place(0)).unwrap();
    assert_eq!(news, News { gone: Some(offered[0]), found: Some(last) });
    driven.tell(news);
    let tried: Vec<_> = (0..MAX_PROXIES).filter_map(|_| driven.next_attempt()).collect();
    assert_eq!(tried, [&offered[1..], &[last]].concat());
}
