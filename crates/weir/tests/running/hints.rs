//! What the command line says where something else was meant.

use crate::api_kit::*;
use crate::kit::*;

#[tokio::test]
async fn advise_alone_says_what_there_is() {
    let weir = weir(&server(Flavor::MariaDb));
    let said = refused_with(&weir, &["advise"]);
    assert!(said.contains("weir advise cache ") && said.contains("weir advise pins "), "{said}");
    let help = cli(&["advise"]);
    let help = String::from_utf8_lossy(&help.stderr).into_owned();
    assert!(help.contains("pins ") && help.contains("cache "), "{help}");
}
