"""The command line: run tasks, watch and steer them from a shell.

    main       one call from arguments to an exit code
    parser     what can be written
    commands   one module for each verb, or for each kind of verb
    render     records as text and as JSON: pure

It names tasks and never takes code. Standard library only; a verb's module is loaded when it is asked for.
"""
