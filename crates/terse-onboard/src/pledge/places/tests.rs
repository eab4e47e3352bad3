use super::*;

fn place(number: usize) -> Place {
    Place::new(format!("host{number}.example"), 8443)
}

#[test]
fn a_place_keeps_its_number_and_no_number_comes_twice() {
    let mut places = Places::default();
    let (first, _) = places.add(place(1));
    assert_eq!(places.add(place(1)), (first, None));
    assert_eq!(places.remove(&place(1)), Some(first));
    assert_eq!(places.of(first), None);
    let (again, _) = places.add(place(1));
    assert_ne!(again, first);
    assert_eq!(places.of(again), Some(&place(1)));
}

#[test]
fn a_flood_of_places_makes_the_oldest_be_forgotten() {
    let mut places = Places::default();
    let numbers: Vec<_> = (0..MAX_PLACES).map(|number| places.add(place(number)).0).collect();
    let (new, forgotten) = places.add(place(MAX_PLACES));
    assert_eq!(forgotten, Some(numbers[0]));
    assert_eq!((places.of(numbers[0]), places.of(new)), (None, Some(&place(MAX_PLACES))));
    assert_eq!(places.known.len(), MAX_PLACES);
}
