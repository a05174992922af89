//! The page of `macml bench`, of made runs: its structure, what strangers wrote in it, and what it says of odd histories.

use std::collections::BTreeMap;

use macml::bench::BatchSize;
use macml::bench::Failure;
use macml::bench::Measurement;
use macml::bench::Run;
use macml::bench::Work;
use macml::bench::Workers;
use macml::bench::page;
use macml::bench::readme;
use macml::pep::Sha256;
use macml::sys::fs::Written;
use macml::verify::Circumstances;
use macml::verify::Word;
use macml::verify::protocol::Device;
use macml::verify::protocol::ElementType;
use macml::verify::protocol::Framework;

use crate::support::page::well_formed;

const NOON: u64 = 1_796_040_000;

/// A made measurement: `median` with a little to both sides.
fn measured(framework: Framework, work: Work, element: ElementType, device: Device, median: f64) -> Measurement {
    let on_gpu = device != Device::Cpu;
    Measurement {
        framework,
        work,
        size: if work == Work::Product { 5000 } else { 2048 },
        element,
        device,
        device_name: Some("Apple M3 Max".to_owned()),
        warm_up: median * 4.0,
        seconds: vec![median * 0.97, median, median * 1.06],
        transfer: on_gpu.then_some(0.021),
        device_bytes: on_gpu.then_some(700 << 20),
        process_bytes: Some(1_300 << 20),
        error: None,
        left_out: None,
    }
}

/// A made run: torch and MLX, both kinds of work, on CPU and GPU in both types; the CPU cannot do float16 in torch.
fn run(at: u64) -> Run {
    let mut measurements = Vec::new();
    #[expect(clippy::cast_precision_loss, reason = "small")]
    let wobble = 1.0 + 0.04 * ((at * 7 % 5) as f64 - 2.0);
    for (framework, faster) in [(Framework::Torch, 1.0), (Framework::Mlx, 0.8)] {
        for (work, seconds) in [(Work::Product, 0.31), (Work::Convolution, 1.9)] {
            for (element, half) in [(ElementType::Float32, 1.0), (ElementType::Float16, 0.6)] {
                for (device, speed) in [(Device::Cpu, 1.0), (Device::Mps, 0.08)] {
                    let median = seconds * faster * half * speed * wobble;
                    let mut one = measured(framework, work, element, device, median);
                    if framework == Framework::Torch && element == ElementType::Float16 && device == Device::Cpu {
                        one.error = Some("\"addmm_impl_cpu_\" not implemented for 'Half'".to_owned());
                        one.seconds.clear();
                    }
                    measurements.push(one);
                }
            }
        }
    }
    Run {
        version: Run::VERSION,
        when: NOON + at * 86_400,
        env: "default".to_owned(),
        circumstances: Circumstances {
            lock: Some(Sha256::of(b"one")),
            content: None,
            system: "macOS 15.6.1".to_owned(),
            chip: "Apple M3 Max".to_owned(),
        },
        memory: Some(36 << 30),
        load: None,
        packages: BTreeMap::from([("torch".to_owned(), "2.13.0".to_owned()), ("mlx".to_owned(), "0.32.2".to_owned())]),
        measurements,
        failures: Vec::new(),
        batch_sizes: Vec::new(),
        workers: Vec::new(),
    }
}

/// Twelve runs with a new torch, a new macOS, another lock and another machine among them.
fn history() -> Vec<Run> {
    let mut runs: Vec<Run> = (0..12).map(run).collect();
    for run in &mut runs[3..] {
        run.packages.insert("torch".to_owned(), "2.14.1".to_owned());
        run.circumstances.lock = Some(Sha256::of(b"two"));
    }
    for run in &mut runs[6..] {
        run.circumstances.system = "macOS 26.1".to_owned();
        run.measurements.iter_mut().flat_map(|one| &mut one.seconds).for_each(|seconds| *seconds *= 1.3);
    }
    for run in &mut runs[9..] {
        run.circumstances.chip = "Apple M5 Max".to_owned();
        run.circumstances.lock = Some(Sha256::of(b"three"));
        run.memory = Some(128 << 30);
        run.measurements.iter_mut().for_each(|one| one.device_name = Some("Apple M5 Max".to_owned()));
    }
    let size = |samples: u64, rate: f64, stopped: Option<&str>| BatchSize {
        framework: Framework::Torch,
        device: Device::Mps,
        samples,
        rate: Some(rate),
        device_bytes: Some(samples * 900_000),
        pressure: Some(0.2 + f64::from(u32::try_from(samples).unwrap()) / 30_000.0),
        stopped: stopped.map(str::to_owned),
    };
    runs[11].batch_sizes =
        vec![size(4096, 8_123.0, None), size(8192, 8_311.0, Some("the next one would leave less than 4.50 GiB free"))];
    let way = |workers, persistent, first, later| Workers { workers, persistent, first, seconds: vec![later; 2] };
    runs[11].workers = vec![way(0, false, 0.91, 0.88), way(2, false, 4.4, 4.2), way(2, true, 4.4, 0.47)];
    runs
}

/// Keeps a page where `MACML_PAGES` names a folder, to be looked at.
fn keep(name: &str, page: &str) {
    if let Ok(folder) = std::env::var("MACML_PAGES") {
        std::fs::write(std::path::Path::new(&folder).join(name), page).unwrap();
    }
}

#[test]
fn a_history_is_drawn_told_and_tabled() {
    let runs = history();
    let page = page(&runs);
    keep("history.html", &page);
    let text = well_formed(&page);
    // Two frameworks and two kinds of work; both devices and types in each.
    assert_eq!(page.matches("<figure>").count(), 4);
    assert_eq!(page.matches("<path class=\"line gpu float16\" d=\"M").count(), 8, "a line and its swatch in each");
    assert_eq!(page.matches("<circle class=\"point gpu float32\"").count(), 4 * (12 + 1));
    // The CPU's float16 of torch failed: a cross each time, with the reason, and a row that says so.
    assert_eq!(page.matches("<path class=\"failed cpu float16\"").count(), 2 * 12);
    assert!(text.contains("failed: \"addmm_impl_cpu_\" not implemented for 'Half'"), "{text}");
    // Three changes, each a line in every drawing, and told once below.
    assert_eq!(page.matches("<g class=\"change\">").count(), 4 * 3);
    for told in [
        "torch 2.13.0 to 2.14.1",
        "system macOS 15.6.1 to macOS 26.1",
        "processor Apple M3 Max to Apple M5 Max; memory 36 GiB to 128 GiB; macml.lock",
    ] {
        assert!(text.contains(told), "`{told}` is not in\n{text}");
    }
    // No line leads from one machine to the other.
    let line = page.lines().find(|line| line.starts_with("<path class=\"line gpu float32\" d=\"M9")).unwrap();
    assert_eq!(line.matches('M').count(), 2, "{line}");
    for part in ["12.5×", "128 GiB", "torch 2.14.1, mlx 0.32.2", "700 MiB", "8,192", "47 %", "4.40 s", "470 ms"] {
        assert!(text.contains(part), "`{part}` is not in\n{text}");
    }
    assert!(text.contains("Made by macml") && text.contains("12 runs from 2026-11-30 to 2026-12-11"), "{text}");
}

#[test]
fn the_same_runs_are_the_same_bytes_in_any_order() {
    let mut runs = history();
    let first = page(&runs);
    runs.reverse();
    assert_eq!(page(&runs), first);
}

#[test]
fn odd_histories_are_pages_too() {
    let check = |name: &str, runs: &[Run], expected: &[&str]| {
        let page = page(runs);
        keep(name, &page);
        let text = well_formed(&page);
        expected.iter().for_each(|part| assert!(text.contains(part), "{name}: `{part}` is not in\n{text}"));
        page
    };
    check("none.html", &[], &["No benchmark yet", "macml bench"]);
    check("one.html", &[run(0)], &["One run so far", "one run of 2026-11-30"]);
    // No GPU: only the CPU's times, with nothing to compare.
    let mut plain = run(0);
    plain.measurements.retain(|one| one.device == Device::Cpu && one.error.is_none());
    plain.measurements.iter_mut().for_each(|one| one.device_name = Some("Some Processor @ 2.00GHz".to_owned()));
    plain.circumstances.chip.clear();
    plain.circumstances.system = "linux x86_64".to_owned();
    plain.circumstances.lock = None;
    plain.memory = None;
    let page =
        check("cpu.html", &[plain.clone(), Run { when: NOON + 9, ..plain }], &["not measured", "Some Processor"]);
    assert!(!page.contains("<dt>Lock") && !page.contains("<dt>Memory") && !page.contains("\"line gpu"));
    // Errors instead of times, everywhere.
    let mut broken = run(0);
    for one in &mut broken.measurements {
        one.seconds.clear();
        one.error = Some("MPS backend out of memory".to_owned());
    }
    let page = check("errors.html", &[broken], &["failed: MPS backend out of memory"]);
    assert_eq!((page.matches("No run has a time of it.").count(), page.matches("role=\"img\"").count()), (4, 0));
    // A framework that came later and one that went.
    let mut runs = history();
    runs[..6].iter_mut().for_each(|run| run.measurements.retain(|one| one.framework == Framework::Torch));
    runs[8..].iter_mut().for_each(|run| run.measurements.retain(|one| one.framework == Framework::Mlx));
    let page = check("missing.html", &runs, &[]);
    assert_eq!(page.matches("<figure>").count(), 4);
    runs[11].measurements.clear();
    check("nothing.html", &runs[11..], &["It measured no times"]);
    // Many runs with many changes.
    let mut many: Vec<Run> = (0..200).map(run).collect();
    for (at, run) in many.iter_mut().enumerate() {
        run.circumstances.system = format!("macOS 15.{}", at / 3);
    }
    let page = check("many.html", &many, &["What changed (66)", "200 runs from"]);
    assert!(page.contains("<details class=\"told\">\n<summary>What changed"), "closed");
    assert!(page.len() < 2 << 20, "{}", page.len());
}

/// The CPU takes a smaller size where the whole one would take too long; some works are left out, some break.
#[test]
fn other_sizes_and_what_is_missing_are_told() {
    let mut runs = vec![run(0), run(1)];
    for one in runs.iter_mut().flat_map(|run| &mut run.measurements) {
        if one.device == Device::Cpu && one.error.is_none() {
            one.size = if one.work == Work::Product { 1000 } else { 512 };
        }
        if one.error.take().is_some() {
            one.left_out = Some("even size 500 would take about 40 s each time".to_owned());
        }
    }
    runs[1].failures.push(Failure {
        framework: Framework::Tensorflow,
        device: Device::Mps,
        word: Word::Crashed,
        sentence: "was ended by signal 6 (abort)".to_owned(),
    });
    let page = page(&runs);
    keep("sizes.html", &page);
    let text = well_formed(&page);
    for part in [
        "CPU float32 (1,000)",
        "torch: product of 5,000 × 5,000 matrices",
        "its time is reckoned up to 5,000",
        "left out: even size 500",
        "tensorflow on the GPU: was ended by signal 6 (abort)",
        // 285 ms and 322 ms for a product of which 125 make the whole one; 12.5 times 125.
        "of size 1,000",
        "1562×",
    ] {
        assert!(text.contains(part), "`{part}` is not in\n{text}");
    }
    assert!(!text.contains("failed:"), "{text}");
}

#[test]
fn what_strangers_wrote_stays_text() {
    let hostile = "</title><script>alert('x')</script>\" onload=\"x\u{1b}[31m";
    let mut runs = history();
    for run in &mut runs {
        run.env = hostile.to_owned();
        run.circumstances.chip = hostile.to_owned();
        run.circumstances.system.push_str(hostile);
        run.packages.insert(hostile.to_owned(), format!("{hostile}{}", run.when));
        for one in &mut run.measurements {
            one.device_name = Some(hostile.to_owned());
            one.error = Some(hostile.to_owned());
            if one.device == Device::Mps {
                one.seconds.clear();
            }
        }
        run.batch_sizes.iter_mut().for_each(|size| size.stopped = Some(hostile.to_owned()));
    }
    let page = page(&runs);
    well_formed(&page);
    assert!(!page.contains("<script") && !page.contains("\u{1b}") && page.contains("&lt;script&gt;"));
}

#[test]
fn numbers_that_are_none_are_not_drawn() {
    let mut one = run(0);
    let odd = [f64::NAN, f64::INFINITY, 0.0, -1.0];
    for (measured, odd) in one.measurements.iter_mut().zip(odd.into_iter().cycle()) {
        measured.seconds = vec![odd];
        (measured.warm_up, measured.transfer) = (odd, Some(odd));
    }
    well_formed(&page(&[one, run(1)]));
}

#[test]
fn the_block_of_a_readme_is_replaced_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (real, link) = (at("docs.md"), at("README.md"));
    let around = ("\u{feff}# x\r\n\r\n<!-- macml bench -->\r\n", "<!-- /macml bench -->\r\nno end");
    std::fs::write(&real, format!("{}old\r\n{}", around.0, around.1)).unwrap();
    std::os::unix::fs::symlink("docs.md", &link).unwrap();
    assert_eq!(readme::write(&link, &history()[11]).unwrap(), Written::Changed);
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    let text = std::fs::read_to_string(&real).unwrap();
    let block = text.strip_prefix(around.0).unwrap().strip_suffix(around.1).unwrap();
    assert_eq!(block.matches('\n').count(), block.matches("\r\n").count());
    insta::assert_snapshot!(block.replace("\r\n", "\n"), @r"
    Apple M5 Max, 128 GiB, macOS 26.1; torch 2.14.1, mlx 0.32.2, measured on 2026-12-11

    | Work | Type | CPU | GPU | GPU against CPU |
    | --- | --- | ---: | ---: | ---: |
    | torch: product of 5,000 × 5,000 matrices | float32 | 403 ms | 32.2 ms | 12.5× |
    | torch: product of 5,000 × 5,000 matrices | float16 | failed | 19.3 ms | – |
    | torch: training a small convolutional network, 2,048 samples | float32 | 2.47 s | 198 ms | 12.5× |
    | torch: training a small convolutional network, 2,048 samples | float16 | failed | 119 ms | – |
    | mlx: product of 5,000 × 5,000 matrices | float32 | 322 ms | 25.8 ms | 12.5× |
    | mlx: product of 5,000 × 5,000 matrices | float16 | 193 ms | 15.5 ms | 12.5× |
    | mlx: training a small convolutional network, 2,048 samples | float32 | 1.98 s | 158 ms | 12.5× |
    | mlx: training a small convolutional network, 2,048 samples | float16 | 1.19 s | 94.8 ms | 12.5× |
    ");
    // The same run again writes nothing.
    assert_eq!(readme::write(&link, &history()[11]).unwrap(), Written::Unchanged);
    // What was left out, what failed and what has another size is told.
    let mut odd = run(0);
    odd.measurements.retain(|one| one.framework == Framework::Torch && one.work == Work::Product);
    odd.measurements[0].size = 2500;
    odd.measurements.truncate(3);
    insta::assert_snapshot!(readme::block(&odd).trim(), @r"
    Apple M3 Max, 36 GiB, macOS 15.6.1; torch 2.13.0, mlx 0.32.2, measured on 2026-11-30

    | Work | Type | CPU | GPU | GPU against CPU |
    | --- | --- | ---: | ---: | ---: |
    | torch: product of 5,000 × 5,000 matrices | float32 | 285 ms (of 2,500) | 22.8 ms | 100× |
    | torch: product of 5,000 × 5,000 matrices | float16 | failed | – | – |
    ");

    // What cannot be done is said with file and line, and changes nothing.
    let refused = |bytes: &[u8], expected: &str| {
        std::fs::write(&real, bytes).unwrap();
        let error = readme::write(&link, &run(0)).unwrap_err().to_string();
        assert_eq!(error.replace(folder.path().to_str().unwrap(), ""), expected);
        assert_eq!(std::fs::read(&real).unwrap(), bytes);
    };
    refused(b"# x\n", "`/README.md`: has no line `<!-- macml bench -->`");
    let twice = b"<!-- macml bench -->\n<!-- /macml bench -->\n<!-- macml bench -->\n";
    refused(twice, "`/README.md`:3: `<!-- macml bench -->` stands there a second time, after line 1");
    refused(
        b"\n<!-- /macml bench -->\n",
        "`/README.md`:2: `<!-- /macml bench -->` has no `<!-- macml bench -->` before it",
    );
    refused(b"# x\n<!-- macml bench -->\n\xff", "`/README.md` is not UTF-8 text (line 3)");
    refused(
        "\u{feff}x".encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>().as_slice(),
        "`/README.md` is not UTF-8 text (line 1)",
    );
    let error = readme::write(&at("absent.md"), &run(0)).unwrap_err().to_string();
    assert!(error.starts_with("there is no `") && error.ends_with("absent.md`"), "{error}");
    assert!(!at("absent.md").exists());
}
