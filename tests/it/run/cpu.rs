//! `--device cpu`, with made-up frameworks of the shape that the real ones document.

use super::made::Made;
use crate::support::python::python;

const CPU: &[&str] = &["--device", "cpu"];

/// A torch with MPS that keeps its answers.
fn torch(made: &Made) {
    made.module(
        "torch/__init__.py",
        "import types\n\
         class device:\n    def __init__(self, type): self.type = type\n\
         _C = types.SimpleNamespace(_has_mps=True, _mps_is_available=lambda: True, \
         _accelerator_getAccelerator=lambda: device('mps'))\n\
         from . import backends, mps, accelerator\n",
    );
    made.module("torch/backends/__init__.py", "from . import mps\n");
    made.module(
        "torch/backends/mps/__init__.py",
        "import functools, torch\n\
         def is_built(): return torch._C._has_mps\n\
         @functools.lru_cache\ndef is_available(): return torch._C._mps_is_available()\nis_available()\n",
    );
    made.module(
        "torch/mps/__init__.py",
        "import torch\n\
         def device_count(): return int(torch._C._has_mps and torch._C._mps_is_available())\n\
         def is_available(): return device_count() > 0\n",
    );
    made.module(
        "torch/accelerator/__init__.py",
        "import torch\n\
         def current_accelerator(): return torch._C._accelerator_getAccelerator()\n\
         def is_available(): return current_accelerator() is not None\n",
    );
}

const TORCH: &str = "import torch\nprint(torch.backends.mps.is_available(), torch.backends.mps.is_built(), \
                     torch.mps.device_count(), torch.mps.is_available(), torch.accelerator.is_available())";

#[test]
fn torch_has_no_mps() {
    let made = Made::new("");
    torch(&made);
    assert_eq!(made.python(&[], &[], TORCH), ["True True 1 True True"]);
    assert_eq!(made.python(&[], CPU, TORCH), ["False True 0 False False"]);
    // Whichever part of it is imported first, and again.
    let part = format!("from torch.backends.mps import is_available as one\n{TORCH}\nprint(one())");
    assert_eq!(made.python(&[], CPU, &part), ["False True 0 False False", "False"]);
    let again = format!("import importlib, torch\nimportlib.reload(torch)\n{TORCH}");
    assert_eq!(made.python(&[], CPU, &again), ["False True 0 False False"]);
    // It looks like itself to who looks at it.
    let code = "import torch, inspect\nprint(type(torch.__loader__).__name__, torch.__spec__.loader is torch.__loader__, \
                'SimpleNamespace' in inspect.getsource(torch))";
    assert_eq!(made.python(&[], CPU, code), ["SourceFileLoader True True"]);
}

#[test]
fn other_builds_of_torch_are_left_working() {
    let made = Made::new("");
    made.module("torch/__init__.py", "import types\n_C = types.SimpleNamespace()\nfrom . import backends\n");
    made.module("torch/backends/__init__.py", "import types\nmps = types.SimpleNamespace()\n");
    assert_eq!(made.python(&[], CPU, "import torch; print(torch.backends.mps.is_available())"), ["False"]);
    // One that cannot be changed says so, and is imported.
    made.module("torch/__init__.py", "");
    let run = made.run(&["--device", "cpu", "python", "-c", "import torch; print('on')"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "on\n"));
    assert!(run.stderr.starts_with("macml run --device cpu: could not hide the GPU from torch: "), "{}", run.stderr);
    // And what fails by itself fails as ever.
    made.module("torch/__init__.py", "raise ImportError('no libtorch')\n");
    made.run(&["--device", "cpu", "python", "-c", "import torch"]).says(1, &["ImportError: no libtorch"]);
    made.run(&["--device", "cpu", "python", "-c", "import mlx.core"]).says(1, &["No module named 'mlx'"]);
}

#[test]
fn tensorflow_lists_no_gpu() {
    let made = Made::new("");
    made.module("tensorflow/__init__.py", "from . import config\n");
    made.module(
        "tensorflow/config/__init__.py",
        "import types\n\
         devices = [types.SimpleNamespace(device_type=one) for one in ('CPU', 'GPU')]\n\
         visible = list(devices)\n\
         def list_physical_devices(device_type=None):\n    \
         return [one for one in devices if device_type in (None, one.device_type)]\n\
         def set_visible_devices(given, device_type=None):\n    \
         visible[:] = [one for one in visible if one.device_type != device_type] + list(given)\n\
         experimental = types.SimpleNamespace(list_physical_devices=list_physical_devices)\n",
    );
    let code = "import tensorflow as tf\n\
                tf.config.set_visible_devices(tf.config.list_physical_devices('GPU'), 'GPU')\n\
                for seen in (tf.config.visible, tf.config.list_physical_devices(), \
                tf.config.experimental.list_physical_devices('GPU')): print([one.device_type for one in seen])";
    assert_eq!(made.python(&[], &[], code), ["['CPU', 'GPU']", "['CPU', 'GPU']", "['GPU']"]);
    assert_eq!(made.python(&[], CPU, code), ["['CPU']", "['CPU']", "[]"]);
}

#[test]
fn mlx_begins_on_the_cpu_and_stays() {
    let made = Made::new("");
    // `mlx` is a folder without `__init__.py`.
    made.module(
        "mlx/core.py",
        "import enum, types\n\
         class DeviceType(enum.Enum):\n    cpu = 0\n    gpu = 1\n    \
         def __eq__(self, other):\n        \
         if not isinstance(other, (Device, DeviceType)): raise TypeError('incompatible function arguments')\n        \
         return self.value == getattr(other, 'type', other).value\n\
         cpu, gpu = DeviceType.cpu, DeviceType.gpu\n\
         class Device:\n    def __init__(self, type, index=0): self.type = type\n\
         _default = Device(gpu)\n\
         def default_device(): return _default\n\
         def set_default_device(device):\n    global _default\n    \
         if device is None: raise ValueError('none')\n    \
         _default = device if isinstance(device, Device) else Device(device)\n\
         def is_available(device): return True\n\
         def device_count(device_type): return 1\n\
         metal = types.SimpleNamespace(is_available=lambda: True)\n",
    );
    let code = "import mlx.core as mx\n\
                print(mx.default_device().type, mx.metal.is_available(), mx.is_available(mx.gpu), \
                mx.is_available(mx.cpu), mx.device_count(mx.gpu), mx.device_count(device_type=mx.cpu))\n\
                mx.set_default_device(mx.cpu)\n\
                for device in (mx.gpu, mx.Device(mx.gpu), None):\n\
                \x20   try: mx.set_default_device(device)\n\
                \x20   except ValueError as error: print(error)\n\
                print(mx.default_device().type)";
    let gpu = "DeviceType.gpu True True True 1 1";
    assert_eq!(made.python(&[], &[], code), [gpu, "none", "DeviceType.gpu"]);
    let refused = "[set_default_device] Cannot set gpu device without gpu backend.";
    let cpu = "DeviceType.cpu False False True 0 1";
    assert_eq!(made.python(&[], CPU, code), [cpu, refused, refused, "none", "DeviceType.cpu"]);
}

#[test]
fn core_ml_models_are_loaded_for_the_cpu() {
    let made = Made::new("");
    made.module(
        "coremltools/__init__.py",
        "import enum\nclass ComputeUnit(enum.Enum):\n    ALL = 1\n    CPU_ONLY = 2\n    CPU_AND_GPU = 3\n\
         from . import models\n",
    );
    made.module(
        "coremltools/models/__init__.py",
        "from coremltools import ComputeUnit\n\
         class MLModel:\n    \
         def __init__(self, model, is_temp_package=False, compute_units=ComputeUnit.ALL, weights_dir=None):\n        \
         print(model, compute_units, weights_dir)\n\
         class CompiledMLModel:\n    \
         def __init__(self, path, compute_units=ComputeUnit.ALL): print(path, compute_units)\n",
    );
    let code = "import coremltools as ct\n\
                ct.models.MLModel('a')\n\
                ct.models.MLModel('b', False, ct.ComputeUnit.CPU_AND_GPU, 'w')\n\
                ct.models.CompiledMLModel('c', compute_units=ct.ComputeUnit.ALL)\n\
                try: ct.models.MLModel()\n\
                except TypeError as error: print('model' in str(error))";
    let expected = ["a ComputeUnit.CPU_ONLY None", "b ComputeUnit.CPU_ONLY w", "c ComputeUnit.CPU_ONLY", "True"];
    assert_eq!(made.python(&[], CPU, code), expected);
}

#[test]
fn variables_say_it_to_those_that_obey_them() {
    let made = Made::new("[run.env]\nJAX_PLATFORMS = \"METAL\"\n");
    let code = "import os\nfor name in ('CUDA_VISIBLE_DEVICES', 'JAX_PLATFORMS', 'JAX_PLATFORM_NAME', \
                'PYTORCH_MPS_HIGH_WATERMARK_RATIO', 'PYTORCH_MPS_LOW_WATERMARK_RATIO'): print(os.environ.get(name))";
    let vars = [("CUDA_VISIBLE_DEVICES", "0,1"), ("JAX_PLATFORM_NAME", "gpu")];
    assert_eq!(made.python(&vars, &[], code), ["0,1", "METAL", "gpu", "None", "None"]);
    assert_eq!(made.python(&vars, CPU, code), ["-1", "cpu", "None", "1e-12", "0.0"]);
}

#[test]
fn workers_have_no_gpu_either() {
    let made = Made::new("");
    torch(&made);
    made.project.write(
        "work.py",
        "import multiprocessing, subprocess, sys\n\
         def told(_):\n    import torch\n    return torch.backends.mps.is_available()\n\
         if __name__ == '__main__':\n\
         \x20   with multiprocessing.get_context('spawn').Pool(2) as pool: print(set(pool.map(told, range(4))))\n\
         \x20   code = 'import torch; print(torch.backends.mps.is_available())'\n\
         \x20   print(subprocess.run([sys.executable, '-c', code], capture_output=True, text=True).stdout)\n",
    );
    let run = made.run(&["--device", "cpu", "work.py"]);
    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("{False}\nFalse\n\n", ""));
}

#[test]
fn a_sitecustomize_that_there_is_still_runs() {
    let made = Made::new("");
    torch(&made);
    let code = "import sys\n\
                try:\n    import sitecustomize\n    print(sitecustomize.__file__)\n\
                except ImportError: print('none')\n\
                import os\nprint(sys.path[1:2] == [os.path.abspath('mine')], any('/cpu/' in one for one in sys.path))";
    // As without it: neither the module nor the folder is there.
    assert_eq!(made.python(&[], CPU, code), ["none", "False False"]);
    made.module("sitecustomize.py", "import sys, torch\nsys.hello = 1\n");
    let own = format!("[HERE]/.macml/env/default/0123456789abcdef.1/lib/python{}/site-packages", python().1);
    assert_eq!(made.python(&[], CPU, code), [format!("{own}/sitecustomize.py"), "False False".to_owned()]);
    let code = format!("{TORCH}\nimport sys\nprint(sys.hello)");
    assert_eq!(made.python(&[], CPU, &code), ["False True 0 False False", "1"]);
    // One on the PYTHONPATH that there was goes first, and that path goes on.
    made.project.write("mine/sitecustomize.py", "print('mine')\n");
    let code = "import sys\nprint(sys.path[1].endswith('/mine'))";
    let mine = made.root.join("mine").display().to_string();
    assert_eq!(made.python(&[("PYTHONPATH", &mine)], CPU, code), ["mine", "True"]);
    // And one that fails fails as it would.
    made.project.write("mine/sitecustomize.py", "1 / 0\n");
    let run = made.run_with(&[("PYTHONPATH", &mine)], &["--device", "cpu", "python", "-c", TORCH]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "False True 0 False False\n"));
    assert!(run.stderr.contains("ZeroDivisionError"), "{}", run.stderr);
}

#[test]
fn what_a_pth_file_imports_is_changed_too() {
    let made = Made::new("");
    torch(&made);
    made.module("early.pth", "import torch\n");
    assert_eq!(made.python(&[], CPU, TORCH), ["False True 0 False False"]);
}

#[test]
fn the_file_is_kept_outside_the_environment() {
    let made = Made::new("");
    let count = || walk(&made.generation(1));
    let before = count();
    made.run(&["--device", "cpu", "python", "-c", ""]).says(0, &[]);
    assert_eq!(count(), before);
    assert!(made.root.join(".local/state/macml/cpu").is_dir());
    std::fs::remove_dir_all(made.root.join(".local")).unwrap();
    std::fs::write(made.root.join(".local"), "").unwrap();
    made.run(&["--device", "cpu", "true"]).says(2, &["could not", ".local"]);
    let output = made.command(&["--device", "cpu", "true"]).env_remove("HOME").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("hint: set HOME, or XDG_STATE_HOME"));
    made.run(&["--device", "gpu", "true"]).says(2, &["invalid value 'gpu'", "cpu"]);
}

fn walk(folder: &std::path::Path) -> usize {
    let entries = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    entries.map(|entry| if entry.file_type().unwrap().is_dir() { walk(&entry.path()) } else { 1 }).sum()
}
