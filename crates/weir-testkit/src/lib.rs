//! Real servers, fake peers, a fault relay, the differential
