"""One Bazel test per exported model, each with many cases: see run_model.py."""

def model_tests(models):
    for model in models:
        for exporter in ["script", "dynamo"]:
            native.sh_test(
                name = "%s_%s" % (model, exporter),
                size = "large",
                srcs = ["run_model.py"],
                args = [model, exporter],
                # Up to four ranks are threads that work at once.
                tags = ["cpu:2"],
                data = [
                    "//test:xunit.py",
                    "//examples:" + model,
                    "//tools:dist-import",
                    "//tools:dist-opt",
                    "//tools:dist-report",
                    "//tools:dist-run",
                ],
            )
