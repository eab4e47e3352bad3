use super::*;

#[test]
fn each_resource_has_its_name_by_its_path_and_by_coap() {
    for resource in Resource::ALL {
        let name = resource_name(resource);
        assert!(name == OTHER || RESOURCES.contains(&name), "{resource:?}");
    }
    assert_eq!(resource_at("/.well-known/brski/requestvoucher"), resource_name(Resource::RequestVoucher));
    assert_eq!(resource_at("/.well-known/est/simpleenroll"), resource_name(Resource::SimpleEnroll));
    assert_eq!(resource_at("/health"), "health");
    for stranger in
        ["/", "", "/.well-known/est/", "/.well-known/est/x", "/cacerts", "/health/", "/.well-known/est/cacerts/1"]
    {
        assert_eq!(resource_at(stranger), OTHER, "{stranger}");
    }
}
