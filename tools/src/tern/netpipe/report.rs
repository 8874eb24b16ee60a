//! What is left of a run: text, JSON, pictures, and a page with all of it.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use rustix::fs::{Access, access};
use rustix::system::uname;
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

use super::draw;
use super::samples::MetricCurve;
use super::section::{Section, SectionTable};
use crate::table::TextTable;
use crate::tune;

/// A whole run.
pub(super) struct Report {
    /// What was measured where, in lines.
    pub heading: Vec<(&'static str, String)>,
    /// All parts.
    pub sections: Vec<Section>,
}

/// The lines that head every report.
pub(super) fn heading(command: &str, place: &str, systems: &[String]) -> Vec<(&'static str, String)> {
    let name = uname();
    let text = |part: &std::ffi::CStr| part.to_string_lossy().into_owned();
    let machine = format!(
        "{}, {} {} {}, {} cores",
        text(name.nodename()),
        text(name.sysname()),
        text(name.release()),
        text(name.machine()),
        tern_job::cores()
    );
    vec![
        ("command", command.into()),
        ("between", place.into()),
        ("machine", machine),
        ("date", tune::date(clock_gettime(ClockId::Realtime).tv_sec)),
        ("systems", systems.join("; ")),
    ]
}

/// Tries whether the folder of the results can be made and written, and leaves everything as it was.
pub(super) fn try_folder(folder: &Path) -> Result<(), String> {
    let is_named = |path: &&Path| !path.as_os_str().is_empty();
    let missing: Vec<&Path> = folder.ancestors().filter(is_named).take_while(|path| !path.exists()).collect();
    let made = make_folder(folder);
    for path in missing {
        let _ = fs::remove_dir(path);
    }
    made
}

fn make_folder(folder: &Path) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    access(folder, Access::WRITE_OK | Access::EXEC_OK)
        .map_err(|error| format!("cannot write in {}: {error}", folder.display()))
}

impl Report {
    /// Writes all files into a folder; their names.
    pub(super) fn write(&self, folder: &Path) -> Result<Vec<String>, String> {
        make_folder(folder)?;
        let mut names = Vec::new();
        let mut put = |name: String, bytes: &[u8]| {
            let file = folder.join(&name);
            fs::write(&file, bytes).map_err(|error| format!("cannot write {}: {error}", file.display()))?;
            names.push(name);
            Ok::<(), String>(())
        };
        put("results.txt".into(), self.text().as_bytes())?;
        put("results.json".into(), format!("{:#}\n", self.json()).as_bytes())?;
        let mut pictures = Vec::new();
        for chart in self.sections.iter().flat_map(|section| &section.charts) {
            let svg = draw::svg(chart)?;
            put(format!("{}.svg", chart.file), svg.as_bytes())?;
            put(format!("{}.png", chart.file), &draw::png(chart)?)?;
            pictures.push(svg);
        }
        put("index.html".into(), self.page(&pictures).as_bytes())?;
        Ok(names)
    }

    /// For a terminal.
    pub(super) fn text(&self) -> String {
        let mut heading = TextTable::default();
        self.heading.iter().for_each(|(name, value)| heading.row([name, value]));
        let mut text = format!("tern netpipe {}\n{}", env!("CARGO_PKG_VERSION"), heading.text());
        for section in &self.sections {
            let _ = write!(text, "\n{}\n", section.title);
            section.notes.iter().for_each(|note| {
                let _ = writeln!(text, "  {note}");
            });
            for grid in &section.tables {
                let _ = write!(text, "\n  {}\n{}", grid.title, columns(grid));
            }
        }
        text
    }

    /// For programs. Times are in seconds.
    pub(super) fn json(&self) -> Value {
        let heading: serde_json::Map<String, Value> =
            self.heading.iter().map(|(name, value)| (String::from(*name), json!(value))).collect();
        let sections: Vec<Value> = self.sections.iter().map(section_json).collect();
        json!({ "tern": env!("CARGO_PKG_VERSION"), "run": heading, "sections": sections })
    }

    /// One file that a browser shows without any other.
    fn page(&self, pictures: &[String]) -> String {
        let mut pictures = pictures.iter();
        let mut page = format!("{PAGE_HEAD}<h1>tern netpipe</h1>\n<table class=\"heading\">\n");
        for (name, value) in &self.heading {
            let _ = writeln!(page, "<tr><th>{name}</th><td>{}</td></tr>", escaped(value));
        }
        page += "</table>\n";
        for section in &self.sections {
            let _ = writeln!(page, "<h2>{}</h2>", escaped(&section.title));
            section.notes.iter().for_each(|note| {
                let _ = writeln!(page, "<p>{}</p>", escaped(note));
            });
            for (chart, picture) in section.charts.iter().zip(&mut pictures) {
                let file = escaped(&chart.file);
                let links = format!("<a href=\"{file}.svg\">SVG</a> <a href=\"{file}.png\">PNG</a>");
                let _ = writeln!(page, "<figure>{picture}<figcaption>{links}</figcaption></figure>");
            }
            section.tables.iter().for_each(|grid| page += &html_table(grid));
        }
        page + "<p><a href=\"results.json\">JSON</a> <a href=\"results.txt\">text</a></p>\n</body></html>\n"
    }
}

fn section_json(section: &Section) -> Value {
    let findings: serde_json::Map<String, Value> =
        section.findings.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    json!({
        "name": section.name,
        "title": section.title,
        "notes": section.notes,
        "findings": findings,
        "curves": section.curves.iter().map(curve_json).collect::<Vec<_>>(),
    })
}

fn curve_json(curve: &MetricCurve) -> Value {
    let points: Vec<Value> = curve
        .points()
        .map(|(bytes, point)| {
            json!({
                "bytes": bytes,
                "best_s": point.best_s,
                "median_s": point.median_s,
                "trials": point.trials,
                "spread": point.spread,
            })
        })
        .collect();
    json!({
        "system": curve.system,
        "metric": curve.metric,
        "parameter": curve.parameter,
        "points": points,
    })
}

fn columns(grid: &SectionTable) -> String {
    let mut table = TextTable::default();
    grid.rows.iter().for_each(|row| table.push(row.clone()));
    table.text()
}

fn html_table(grid: &SectionTable) -> String {
    let mut text = format!("<h3>{}</h3>\n<table>\n", escaped(&grid.title));
    for (index, row) in grid.rows.iter().enumerate() {
        let kind = if index == 0 { "th" } else { "td" };
        let cells: String = row.iter().map(|cell| format!("<{kind}>{}</{kind}>", escaped(cell))).collect();
        let _ = writeln!(text, "<tr>{cells}</tr>");
    }
    text + "</table>\n"
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

const PAGE_HEAD: &str = "<!doctype html>
<html lang=\"en\"><head><meta charset=\"utf-8\"><title>tern netpipe</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1000px; margin: 2em auto; padding: 0 1em; color: #24292f; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: 0.5em 0 1.5em; }
th, td { padding: 0.15em 0.9em 0.15em 0; text-align: left; border-bottom: 1px solid #e4e7eb; vertical-align: top; }
.heading th { font-weight: normal; color: #6b7280; }
figure { margin: 1em 0; overflow-x: auto; } figcaption { font-size: 13px; }
</style></head><body>
";

#[cfg(test)]
mod tests {
    use super::super::curves;
    use super::super::samples::tests::curve;
    use super::*;
    use crate::installation::ScratchFolder;

    fn report() -> Report {
        let times = [(8, 1e-6), (65536, 2e-5)];
        let all = || vec![curve("tern", 0, "pingpong", &times), curve("<peer>", 0, "pingpong", &times)];
        let heading = heading("tern netpipe --host \"a,b\"", "here", &["Tern".into()]);
        let sections = vec![curves::section("curves", "Ping & pong", all())];
        Report { heading, sections }
    }

    #[test]
    fn a_folder_that_cannot_be_is_named_at_once() {
        let scratch = ScratchFolder::new("tern-netpipe-folder-test").unwrap();
        assert_eq!(try_folder(&scratch.file("a/b")), Ok(()));
        assert!(!scratch.file("a").exists());
        fs::write(scratch.file("file"), "").unwrap();
        assert!(try_folder(&scratch.file("file/a")).unwrap_err().contains("cannot make"));
        assert!(try_folder(&scratch.file("file")).unwrap_err().contains("/file"));
        assert!(scratch.file("file").exists());
    }

    #[test]
    fn the_json_has_every_point_and_finding() {
        let value: Value = serde_json::from_str(&report().json().to_string()).unwrap();
        let point = &value["sections"][0]["curves"][0]["points"][1];
        assert_eq!((point["bytes"].as_u64(), point["best_s"].as_f64()), (Some(65536), Some(2e-5)));
        assert_eq!(value["run"]["command"], "tern netpipe --host \"a,b\"");
        assert_eq!(value["sections"][0]["findings"]["tern.latency_s"], 1e-6);
    }

    #[test]
    fn a_number_that_is_none_is_null() {
        let mut report = report();
        report.sections[0].findings.push(("nothing".into(), f64::NAN));
        let value: Value = serde_json::from_str(&report.json().to_string()).unwrap();
        assert!(value["sections"][0]["findings"]["nothing"].is_null());
    }

    #[test]
    fn all_files_are_written_and_the_page_has_the_pictures() {
        let folder = ScratchFolder::new("tern-netpipe-report-test").unwrap();
        let names = report().write(&folder.file("")).unwrap();
        for name in ["results.txt", "results.json", "index.html", "curves-time.svg", "curves-throughput.png"]
        {
            assert!(names.iter().any(|known| known == name), "{name} in {names:?}");
            assert!(folder.file(name).is_file());
        }
        let page = fs::read_to_string(folder.file("index.html")).unwrap();
        assert_eq!(page.matches("<svg").count(), 3);
        assert!(
            page.contains("Ping &amp; pong") && page.contains("&lt;peer&gt;") && !page.contains("<peer>")
        );
    }

    #[test]
    fn text_has_all_sections() {
        let text = report().text();
        for word in ["Ping & pong", "time of one way", "1.00 us / 1.00 us", "64k", "machine"] {
            assert!(text.contains(word), "{word} in {text}");
        }
    }
}
