//! Lints the documents: lengths, links, the book's table of contents, and the length of sentences.

#![forbid(unsafe_code)]

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Lines of the documents at the root: a user's first five minutes.
const ROOT_LINES_MAX: &[(&str, usize)] = &[("README.md", 200), ("ARCHITECTURE.md", 250)];

/// Lines of a page of the book.
const PAGE_LINES_MAX: usize = 250;

/// Words of a sentence.
const WORDS_MAX: usize = 25;

#[test]
fn documents_are_short() {
    let mut complaints = Vec::new();
    for (name, most) in ROOT_LINES_MAX {
        complaints.extend(too_long(&root().join(name), *most));
    }
    for page in pages() {
        complaints.extend(too_long(&page, PAGE_LINES_MAX));
    }
    judge(complaints);
}

fn too_long(page: &Path, most: usize) -> Option<String> {
    let lines = read(page).lines().count();
    (lines > most).then(|| format!("{}: {lines} lines, over {most}", page.display()))
}

#[test]
fn the_table_of_contents_has_every_page() {
    let book = root().join("docs");
    let summary = book.join("SUMMARY.md");
    let listed: HashSet<PathBuf> = links(&read(&summary)).into_iter().map(|link| book.join(link)).collect();
    let missing = pages().into_iter().filter(|page| *page != summary && !listed.contains(page));
    judge(missing.map(|page| format!("{}: is not in docs/SUMMARY.md", page.display())).collect());
}

#[test]
fn links_lead_somewhere() {
    let mut complaints = Vec::new();
    for page in pages().into_iter().chain(documents_beside_the_book()) {
        let folder = page.parent().expect("a file is in a folder");
        for link in links(&read(&page)) {
            if let Some(fault) = broken(&page, folder, &link) {
                complaints.push(format!("{}: {link}: {fault}", page.display()));
            }
        }
    }
    judge(complaints);
}

/// What is wrong with a link, if it is one within the tree.
fn broken(page: &Path, folder: &Path, link: &str) -> Option<&'static str> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (file, anchor) = link.split_once('#').map_or((link, None), |(file, anchor)| (file, Some(anchor)));
    let target = if file.is_empty() { page.to_path_buf() } else { folder.join(file) };
    if !target.exists() {
        return Some("there is no such file");
    }
    let anchor = anchor.filter(|_| target.extension().is_some_and(|ending| ending == "md"))?;
    (!anchors(&read(&target)).contains(anchor)).then_some("there is no such heading")
}

#[test]
fn sentences_are_short() {
    let mut complaints = Vec::new();
    for page in pages().into_iter().chain(ROOT_LINES_MAX.iter().map(|(name, _)| root().join(name))) {
        for sentence in sentences(&read(&page)) {
            let words = sentence.split_whitespace().count();
            if words > WORDS_MAX {
                complaints.push(format!("{}: {words} words: {sentence}", page.display()));
            }
        }
    }
    judge(complaints);
}

/// What the pages on conformance name is there: programs that test, and files of the source.
#[test]
fn what_conformance_names_is_there() {
    let mut sources = Vec::new();
    sources_under(&root(), &mut sources);
    let is_source = |name: &str| sources.iter().any(|source| source.ends_with(name));
    let mut complaints = Vec::new();
    for page in
        pages().into_iter().filter(|page| page.parent().is_some_and(|folder| folder.ends_with("conformance")))
    {
        for row in rows(&read(&page)).iter().filter(|row| row.len() == 4) {
            for name in row[3].iter().filter(|name| !is_test(name)) {
                complaints.push(format!("{}: there is no test '{name}'", page.display()));
            }
            let files = row[2].iter().filter(|name| name.contains('/') || name.ends_with(".rs"));
            for name in files.filter(|name| !root().join(name).exists() && !is_source(name)) {
                complaints.push(format!("{}: there is no file '{name}'", page.display()));
            }
        }
    }
    judge(complaints);
}

/// Files of the source that pages name by path or by name are there. Pages of measurements say what was there on their day.
#[test]
fn sources_that_pages_name_are_there() {
    let mut sources = Vec::new();
    sources_under(&root(), &mut sources);
    let is_there = |word: &str| sources.iter().any(|source| source.ends_with(word));
    let mut complaints = Vec::new();
    for page in pages().into_iter().chain(documents_beside_the_book()) {
        if page.parent().is_some_and(|folder| folder.ends_with("performance")) {
            continue;
        }
        for event in events(&read(&page)) {
            if let Event::Code(word) = event
                && word.ends_with(".rs")
                && !word.contains(['{', '*', ' '])
                && !is_there(&word)
            {
                complaints.push(format!("{}: there is no file '{word}'", page.display()));
            }
        }
    }
    judge(complaints);
}

/// Paths of files of the source, at any depth.
fn sources_under(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if path.is_dir() && !name.starts_with('.') && name != "target" && path != root().join("build") {
            sources_under(&path, found);
        } else if name.ends_with(".rs") {
            found.push(path);
        }
    }
}

/// A file by its path, or a program of the conformance suite by its name.
fn is_test(name: &str) -> bool {
    if name.contains('/') {
        root().join(name).exists()
    } else {
        root().join("tests/c").join(name).with_extension("c").exists()
    }
}

/// The words in code of each cell, by row of a table.
fn rows(text: &str) -> Vec<Vec<Vec<String>>> {
    let mut rows: Vec<Vec<Vec<String>>> = Vec::new();
    for event in events(text) {
        match event {
            // What stands behind a table is in no cell.
            Event::Start(Tag::TableHead | Tag::TableRow) | Event::End(TagEnd::Table) => rows.push(Vec::new()),
            Event::Start(Tag::TableCell) => {
                rows.last_mut().into_iter().for_each(|row: &mut Vec<_>| row.push(Vec::new()))
            }
            Event::Code(word) => {
                if let Some(cell) = rows.last_mut().and_then(|row| row.last_mut()) {
                    cell.push(word.to_string());
                }
            }
            _ => {}
        }
    }
    rows
}

/// The sentences of paragraphs and lists. Headings, tables and code are none.
fn sentences(text: &str) -> Vec<String> {
    let mut paragraphs = vec![String::new()];
    let mut outside = 0;
    for event in events(text) {
        match event {
            Event::Start(Tag::Heading { .. } | Tag::Table(_) | Tag::CodeBlock(_)) => outside += 1,
            Event::End(TagEnd::Heading(_) | TagEnd::Table | TagEnd::CodeBlock) => outside -= 1,
            Event::Start(Tag::Paragraph | Tag::Item) => paragraphs.push(String::new()),
            Event::Text(words) | Event::Code(words) if outside == 0 => {
                paragraphs.last_mut().expect("one is there").push_str(&words);
            }
            Event::SoftBreak | Event::HardBreak => paragraphs.last_mut().expect("one is there").push(' '),
            _ => {}
        }
    }
    paragraphs.iter().flat_map(|paragraph| split(paragraph)).collect()
}

/// Cuts behind full stops and colons that a blank follows.
fn split(paragraph: &str) -> Vec<String> {
    let mut sentences = vec![String::new()];
    for word in paragraph.split_whitespace() {
        let sentence = sentences.last_mut().expect("one is there");
        sentence.push_str(word);
        sentence.push(' ');
        if word.ends_with(['.', '?', '!', ':', ';']) {
            sentences.push(String::new());
        }
    }
    sentences
}

fn links(text: &str) -> Vec<String> {
    let link = |event| match event {
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => Some(dest_url.to_string()),
        _ => None,
    };
    events(text).filter_map(link).collect()
}

/// The names by which headings can be linked to.
fn anchors(text: &str) -> HashSet<String> {
    let mut found = HashSet::new();
    let mut heading: Option<String> = None;
    for event in events(text) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => found.extend(heading.take().map(|words| anchor(&words))),
            Event::Text(words) | Event::Code(words) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&words);
                }
            }
            _ => {}
        }
    }
    found
}

fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

fn events(text: &str) -> Parser<'_> {
    Parser::new_ext(text, Options::ENABLE_TABLES)
}

fn pages() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root().join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a readable folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "md") {
                found.push(path);
            }
        }
    }
    assert!(found.len() > 10, "the book was not found");
    found.sort();
    found
}

fn documents_beside_the_book() -> Vec<PathBuf> {
    let names = [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "bench/README.md",
        "bench/nas/README.md",
        "examples/README.md",
    ];
    names.iter().map(|name| root().join(name)).collect()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn root() -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().expect("the crate is in the tree").to_path_buf()
}

/// Fails with all complaints at once.
fn judge(complaints: Vec<String>) {
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}
