//! UTF-8 and raw JSON cut alike, and as the vectors say that the Python tests read too.

use std::path::Path;

use serde_json::Value;
use toolprune_core::cut::{Budget, Marker};
use toolprune_core::marker::CutForm;
use toolprune_core::{json, text};

/// A text block is one whose text is given as runs; the others are none of these carriers' business.
fn raw_texts(blocks: &Value) -> Vec<String> {
    let raw = |run: &Value| run[0].as_str().unwrap().repeat(usize::try_from(run[1].as_u64().unwrap()).unwrap());
    let blocks = blocks.as_array().unwrap().iter();
    blocks.filter_map(|block| block["text"].as_array()).map(|runs| runs.iter().map(raw).collect()).collect()
}

fn decoded(raw: impl AsRef<[u8]>) -> Vec<u8> {
    json::unescape(raw.as_ref()).into_owned()
}

fn is_cut_raw(form: &CutForm, raws: &[String]) -> bool {
    let mut start = 0;
    let mut matches = true;
    for raw in raws {
        matches &= form.raw_block_matches(start, raw.as_bytes());
        start += json::code_points(raw.as_bytes());
    }
    matches && start == form.kept()
}

fn check(vector: &Value) {
    let name = vector["name"].as_str().unwrap();
    let config = &vector["config"];
    let number = |key: &str| config[key].as_u64().unwrap();
    let marker = config["marker"].as_str().unwrap();
    let budget =
        Budget::new(number("threshold"), number("head"), number("tail"), text::code_points(marker.as_bytes())).unwrap();
    let form = CutForm::new(number("head"), number("tail"), marker);
    let raws = raw_texts(&vector["before"]);
    let expected: Option<Vec<Vec<u8>>> =
        (!vector["after"].is_null()).then(|| raw_texts(&vector["after"]).iter().map(decoded).collect());

    let raw_slices: Vec<&[u8]> = raws.iter().map(String::as_bytes).collect();
    let after = json::cut(&raw_slices, &budget, marker).unwrap();
    let kept = after.map(|texts| texts.iter().map(decoded).filter(|text| !text.is_empty()).collect::<Vec<_>>());
    assert_eq!(kept, expected, "{name}, raw JSON");
    assert_eq!(is_cut_raw(&form, &raws), vector["is_cut"].as_bool().unwrap(), "{name}, raw JSON");

    // UTF-8 has no lone surrogates: such results exist for the other carriers alone.
    let Ok(texts) = raws.iter().map(|raw| String::from_utf8(decoded(raw))).collect::<Result<Vec<_>, _>>() else {
        return;
    };
    let slices: Vec<&str> = texts.iter().map(String::as_str).collect();
    let after = text::cut(&slices, &budget, None, Marker { text: marker, numbered: None }).unwrap();
    let kept = after
        .map(|texts| texts.into_iter().filter(|text| !text.is_empty()).map(String::into_bytes).collect::<Vec<_>>());
    assert_eq!(kept, expected, "{name}, UTF-8");
    assert_eq!(form.is_cut_utf8(&texts.concat()), vector["is_cut"].as_bool().unwrap(), "{name}, UTF-8");
}

#[test]
fn every_vector_is_cut_as_it_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors/cut.json");
    let vectors: Vec<Value> = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    assert!(vectors.len() > 200, "the vectors are there");
    vectors.iter().for_each(check);
}
