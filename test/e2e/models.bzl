"""Two Bazel tests per exported model, each with many cases: run_model.py, and check_gradients.py for its gradients.

Per model alone: mutate_schedules.py, random_schedules.py; of some, overlap.py. Of models of images spatial.py, of some random_pipelines.py.
"""

def _model_test(name, script, args, model, data = []):
    native.sh_test(
        name = name,
        size = "large",
        srcs = [script],
        args = args,
        # Ranks are threads, but most of the time goes into compiling on one: no tag that says so.
        data = [
            "//test:python",
            "//examples:" + model,
            "//tools:dist-compile",
            "//tools:dist-import",
            "//tools:dist-opt",
            "//tools:dist-report",
            "//tools:dist-run",
        ] + data,
    )

def _gradient_test(model, exporter):
    _model_test(
        "%s_%s_gradients" % (model, exporter),
        "check_gradients.py",
        # Schedules mean the same of both exports.
        [model, exporter] + (["torch"] if exporter == "script" else []),
        model,
        data = ["Inputs/gradients.json"],
    )

def model_tests(models):
    for model in models:
        for exporter in ["script", "dynamo"]:
            _model_test("%s_%s" % (model, exporter), "run_model.py", [model, exporter], model)
            _gradient_test(model, exporter)
        _model_test(model + "_schedule_mutants", "mutate_schedules.py", [model], model)
        _model_test(
            model + "_random_schedules",
            "random_schedules.py",
            ["examples/{0}/{0}.dynamo.onnx".format(model)],
            model,
            data = ["mutate_schedules.py"],
        )

def pipeline_tests(models):
    for model in models:
        _model_test(
            model + "_random_pipelines",
            "random_pipelines.py",
            ["examples/{0}/{0}.dynamo.onnx".format(model)],
            model,
            data = ["mutate_schedules.py", "random_schedules.py"],
        )

def export_tests(models):
    """Of models that another one has all else of: run_model.py alone, of {model: exporter}."""
    for model, exporter in models.items():
        _model_test("%s_%s" % (model, exporter), "run_model.py", [model, exporter], model)

def overlap_tests(models):
    for model in models:
        _model_test(model + "_overlap", "overlap.py", [model, "script"], model)

def spatial_tests(models):
    for model in models:
        for exporter in ["script", "dynamo"]:
            _model_test("%s_%s_spatial" % (model, exporter), "spatial.py", [model, exporter], model, data = ["run_model.py"])

def gradient_tests(models):
    for model in models:
        for exporter in ["script", "dynamo"]:
            _gradient_test(model, exporter)
