#!/bin/sh
# Lambda runs this with the command that would start the managed runtime, whose first word is its Python
# (AWS_LAMBDA_EXEC_WRAPPER). The paths are those that the managed runtime adds, in its order: function, layer, runtime.
layer="${0%/gleaner/runtime/*}"
export PYTHONPATH="$LAMBDA_TASK_ROOT:$layer:$LAMBDA_RUNTIME_DIR"
exec "$1" -c 'from gleaner.runtime.lambda_runtime import main; main()'
