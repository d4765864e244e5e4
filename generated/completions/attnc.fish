# fish completion of attnc, made from the tables of the compiler.

set -g __attnc_keys \
    'name=' \
    'description=' \
    'prepare=' \
    'similarity=softmax' \
    'similarity=polynomial' \
    'similarity=polynomial_square' \
    'similarity=polysketch' \
    'similarity=linear' \
    'similarity=custom' \
    'similarity.softmax.scale=' \
    'similarity.softmax.cap=' \
    'similarity.softmax.bias=none' \
    'similarity.softmax.bias=alibi' \
    'similarity.softmax.bias=dense' \
    'similarity.softmax.modify=' \
    'similarity.softmax.compatibility=dot' \
    'similarity.softmax.compatibility=multiplicative' \
    'similarity.softmax.compatibility=additive' \
    'similarity.softmax.compatibility.additive.hidden=' \
    'similarity.polynomial.degree=' \
    'similarity.polynomial.alpha=' \
    'similarity.polynomial.beta=' \
    'similarity.polynomial_square.degree=' \
    'similarity.polynomial_square.coefficients=' \
    'similarity.polysketch.degree=' \
    'similarity.polysketch.sketch=' \
    'similarity.polysketch.map=random' \
    'similarity.polysketch.map=learned' \
    'similarity.polysketch.local=sketched' \
    'similarity.polysketch.local=exact' \
    'similarity.polysketch.seed=' \
    'similarity.linear.features=identity' \
    'similarity.linear.features=elu_plus_one' \
    'similarity.linear.features=relu' \
    'similarity.linear.features=squared_relu' \
    'similarity.linear.features=taylor1' \
    'similarity.linear.features=favor_positive' \
    'similarity.linear.features=favor_trig' \
    'similarity.linear.features=favor_relu' \
    'similarity.linear.features=hedgehog' \
    'similarity.linear.features.relu.eps=' \
    'similarity.linear.features.taylor1.eps=' \
    'similarity.linear.features.favor_positive.count=' \
    'similarity.linear.features.favor_positive.orthogonal=true' \
    'similarity.linear.features.favor_positive.orthogonal=false' \
    'similarity.linear.features.favor_positive.seed=' \
    'similarity.linear.features.favor_trig.count=' \
    'similarity.linear.features.favor_trig.orthogonal=true' \
    'similarity.linear.features.favor_trig.orthogonal=false' \
    'similarity.linear.features.favor_trig.seed=' \
    'similarity.linear.features.favor_relu.count=' \
    'similarity.linear.features.favor_relu.orthogonal=true' \
    'similarity.linear.features.favor_relu.orthogonal=false' \
    'similarity.linear.features.favor_relu.seed=' \
    'similarity.linear.features.favor_relu.eps=' \
    'similarity.linear.modify=' \
    'similarity.custom.weight=' \
    'block=' \
    'mask=none' \
    'mask=causal' \
    'mask=window' \
    'mask=block_window' \
    'mask=prefix' \
    'mask=global' \
    'mask=random' \
    'mask=document' \
    'mask=lengths' \
    'mask=blocks' \
    'mask.window.left=' \
    'mask.window.right=' \
    'mask.window.dilation=' \
    'mask.block_window.block=' \
    'mask.block_window.left=' \
    'mask.block_window.right=' \
    'mask.prefix.length=' \
    'mask.global.count=' \
    'mask.global.tokens=' \
    'mask.random.block=' \
    'mask.random.count=' \
    'mask.random.seed=' \
    'mask.random.causal=true' \
    'mask.random.causal=false' \
    'mask.blocks.block=' \
    'mask.blocks.count=' \
    'mask.expr=' \
    'mask.any=' \
    'mask.all=' \
    'mask.not=' \
    'normalize=sum' \
    'normalize=none' \
    'normalize.sum_plus=' \
    'normalize.sink=' \
    'decay.log=' \
    'delta.rate=' \
    'dropout=' \
    'seed=' \
    'project=linformer' \
    'project.linformer.size=' \
    'shape.head_dim=' \
    'shape.value_dim=' \
    'shape.values=given' \
    'shape.values=keys' \
    'shape.max_length=' \
    'dtype=f32' \
    'dtype=bf16' \
    'dtype=f16' \
    'dtype=f64' \
    'storage.k=f16' \
    'storage.k=bf16' \
    'storage.k=fp8' \
    'storage.k=i8' \
    'storage.k=i8_32' \
    'storage.k=i8_64' \
    'storage.k=q8_0' \
    'storage.k=q4_0' \
    'storage.v=f16' \
    'storage.v=bf16' \
    'storage.v=fp8' \
    'storage.v=i8' \
    'storage.v=i8_32' \
    'storage.v=i8_64' \
    'storage.v=q8_0' \
    'storage.v=q4_0' \
    'algorithm=auto' \
    'algorithm=quadratic' \
    'algorithm=linear' \
    'emit=' \
    'arrays=' \
    'schedule.tile_q=' \
    'schedule.tile_k=' \
    'schedule.chunk=' \
    'schedule.part=' \
    'schedule.rows=' \
    'schedule.vectors=' \
    'schedule.unroll=' \
    'schedule.crossover=' \
    'schedule.together=' \
    'schedule.faded=' \
    'schedule.units=' \
    'schedule.backward.tile_q=' \
    'schedule.backward.tile_k=' \
    'schedule.backward.chunk=' \
    'schedule.backward.part=' \
    'schedule.backward.rows=' \
    'schedule.backward.vectors=' \
    'schedule.backward.unroll=' \
    'schedule.backward.faded=' \
    'schedule.backward.units=' \
    'schedule.backward.sweep='

function __attnc_list
    set -l typed (string replace -r '^--[^=]*=' '' -- (commandline -ct))
    set -l before (string replace -r '[^,]*$' '' -- $typed)
    printf '%s\n' $before$argv
end

complete -c attnc -f
complete -c attnc -n __fish_is_first_token -a explain -d 'prints the chosen form (quadratic or linear), why it was chosen, and its cost'
complete -c attnc -n __fish_is_first_token -a build -d 'compiles kernels for this machine into the cache, and says where they are'
complete -c attnc -n __fish_is_first_token -a run -d 'compiles, loads and runs the kernel on DIR/{q,k,v,PARAMETER}.npy, writes out.npy'
complete -c attnc -n __fish_is_first_token -a check -d 'compares every pass and the compiled kernel with the float64 interpreter'
complete -c attnc -n __fish_is_first_token -a bench -d 'measures time, GFLOP/s and share of the peak, over lengths, heads and threads'
complete -c attnc -n __fish_is_first_token -a tune -d 'searches schedules on this machine, and writes SPEC.tuned.yaml'
complete -c attnc -n __fish_is_first_token -a list -d 'lists the specs that come with attnc, or the targets'
complete -c attnc -n __fish_is_first_token -a show -d 'prints specs, or draws the weights of one'
complete -c attnc -n __fish_is_first_token -a help -d 'prints help, as --help does'
complete -c attnc -n __fish_is_first_token -a version -d 'prints the version, as --version does'
complete -c attnc -n 'not __fish_seen_subcommand_from list show help version' -ka '(__fish_complete_suffix .yaml)'
complete -c attnc -n '__fish_seen_subcommand_from show' -a '(attnc list 2>/dev/null | string replace -rf "^  (\S+).*" "\$1")'
complete -c attnc -n 'not __fish_seen_subcommand_from explain build run check bench tune list show help version' -s o -xa '(__fish_complete_directories)' -d 'where the output goes (default: the current folder); the folder is created'
complete -c attnc -n 'not __fish_seen_subcommand_from explain build run check bench tune list show help version' -l stdout -d 'writes to standard output'
complete -c attnc -n 'not __fish_seen_subcommand_from build run check bench tune list show help version' -l emit -xa '(__attnc_list c h graph loops dot json py)' -d 'the outputs (default: c,h); explain prints graph and loops'
complete -c attnc -n 'not __fish_seen_subcommand_from list show help version' -l target -xa '(__attnc_list native x86-64-v4 x86-64-v3 x86-64-v2 aarch64 generic)' -d 'the instruction sets to compile for; if there are several, the C file contains code for each and picks the best one at run time'
complete -c attnc -n 'not __fish_seen_subcommand_from list show help version' -l set -xa '$__attnc_keys' -d 'overrides a key of the spec: --set similarity.softmax.scale=2'
complete -c attnc -n 'not __fish_seen_subcommand_from list show help version' -l tuned -d 'takes the schedule of SPEC.yaml from SPEC.tuned.yaml, which attnc tune writes'
complete -c attnc -n 'not __fish_seen_subcommand_from list show help version' -l standalone -d 'emits C that needs only the standard library and headers'
complete -c attnc -n 'not __fish_seen_subcommand_from list show help version' -l no-remainders -d 'refuses a division of integer constants with a remainder, as 1 / 8, which is 0; by default it is a warning'
complete -c attnc -n 'not __fish_seen_subcommand_from explain build run check bench tune list show help version' -o MD -d 'also writes NAME.d, a depfile as C compilers write it'
complete -c attnc -n 'not __fish_seen_subcommand_from explain build run check bench tune list show help version' -o MF -rF -d 'the depfile\'s name; it has one rule for each spec'
complete -c attnc -n 'not __fish_seen_subcommand_from explain build run check bench tune list show help version' -o MT -x -d 'the target in the depfile, instead of the names of the outputs'
complete -c attnc -n 'not __fish_seen_subcommand_from explain build run check bench tune list show help version' -l outputs -d 'prints the names of the output files, one per line, and writes no file'
complete -c attnc -n 'not __fish_seen_subcommand_from explain build run check bench tune list show help version' -l passes -d 'lists the passes'
complete -c attnc -n 'not __fish_seen_subcommand_from list show help version' -l dump-after -xa 'simplify prefix_sums separate correct_values differentiate stabilise strength_reduce stored_rows fold_scale few_queries heads_as_queries tile lower expose_state row_factors residues bf16_pairs matrix_states needed_pairs pack same_tiles bound block_queries feature_parts fuse kept_rows cancel computed_subscripts masked_maps allocate rows_ahead carried faded decayed resume one_thread register_block' -d 'writes the IR after a pass to standard error'
complete -c attnc -n '__fish_seen_subcommand_from run' -l in -xa '(__fish_complete_directories)' -d 'where q.npy, k.npy, v.npy and the parameters are'
complete -c attnc -n '__fish_seen_subcommand_from run' -l out -xa '(__fish_complete_directories)' -d 'where out.npy goes; the folder is created'
complete -c attnc -n '__fish_seen_subcommand_from run' -l chunks -x -d 'decodes in calls of these sizes, repeated, as in 1,7,64, and compares the result with forward'
complete -c attnc -n '__fish_seen_subcommand_from explain run check bench tune' -l threads -x -d 'threads (default: all); for bench a list, as in 1,2,4'
complete -c attnc -n '__fish_seen_subcommand_from run check bench tune' -l seed -x -d 'seed of generated parameters; for run, of dropout, too'
complete -c attnc -n '__fish_seen_subcommand_from explain check bench' -l lengths -x -d 'numbers of queries and keys, as in 1000,4k..64k (doubling)'
complete -c attnc -n '__fish_seen_subcommand_from explain bench tune' -l document -x -d 'positions with the same integer id (default: 1000)'
complete -c attnc -n '__fish_seen_subcommand_from tune' -l shape -x -d 'n=4k..64k,heads=8/2,batch=1,threads=2: lengths that double, heads as for bench; may be given several times (default: n=4k,heads=8)'
complete -c attnc -n '__fish_seen_subcommand_from tune' -l trials -x -d 'the maximum number of candidates for a shape (default: no limit)'
complete -c attnc -n '__fish_seen_subcommand_from tune' -l knobs -x -d 'searches only these knobs, as in tile_q,rows; other knobs keep their defaults (default: all knobs that attnc explain lists)'
complete -c attnc -n '__fish_seen_subcommand_from tune' -l samples -x -d 'the initial number of timings of a candidate (default: 5)'
complete -c attnc -n '__fish_seen_subcommand_from tune' -l report -rF -d 'writes a page about the search'
complete -c attnc -n '__fish_seen_subcommand_from explain check bench' -l heads -x -d 'heads, as in 8, or 8/2: 2 key/value heads, or 8/8/2: q and k have 2 heads (default: 1)'
complete -c attnc -n '__fish_seen_subcommand_from bench' -l batch -x -d 'sequences (default: 1)'
complete -c attnc -n '__fish_seen_subcommand_from explain' -l ranks -x -d 'also the time of one sequence that this number of ranks share, as in 1,8,64'
complete -c attnc -n '__fish_seen_subcommand_from explain' -l link -x -d 'the link between two ranks (default: 12.5GB/s,2us)'
complete -c attnc -n 'not __fish_seen_subcommand_from build list show help version' -l backward -d 'also gradients, even if not requested (tune: only these)'
complete -c attnc -n '__fish_seen_subcommand_from bench' -l decode -d 'times single tokens after --lengths earlier tokens'
complete -c attnc -n '__fish_seen_subcommand_from bench tune' -l time -x -d 'bench: for each spec and point (0.5); tune: in all (300)'
complete -c attnc -n '__fish_seen_subcommand_from bench tune' -l limit -x -d 'bench: skips longer calls (10); tune: stops trials (60)'
complete -c attnc -n '__fish_seen_subcommand_from explain build check bench tune list' -l json -d 'JSON instead of text; =FILE: JSON in FILE (bench, tune)'
complete -c attnc -n '__fish_seen_subcommand_from show' -l picture -rF -d 'draws the weights as SVG'
complete -c attnc -n '__fish_seen_subcommand_from bench' -l plot -rF -d 'draws time against length, or position, as SVG'
complete -c attnc -n '__fish_seen_subcommand_from check' -l verbose -d 'prints a line for every pass'
complete -c attnc -n 'not __fish_seen_subcommand_from help version' -l quiet -d 'prints only errors'
complete -c attnc -n 'not __fish_seen_subcommand_from help version' -l color -xa 'auto always never' -d 'colours in messages: auto, always or never; auto obeys NO_COLOR in the environment'
complete -c attnc -n 'not __fish_seen_subcommand_from help version' -l version -d 'prints the version'
complete -c attnc -n 'not __fish_seen_subcommand_from help version' -l help -d 'prints help'
