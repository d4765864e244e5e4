# bash completion of attnc, made from the tables of the compiler.

_attnc_keys=(
    name= description= prepare= similarity=softmax similarity=polynomial similarity=polynomial_square similarity=polysketch similarity=linear
    similarity=custom similarity.softmax.scale= similarity.softmax.cap= similarity.softmax.bias=none similarity.softmax.bias=alibi
    similarity.softmax.bias=dense similarity.softmax.modify= similarity.softmax.compatibility=dot similarity.softmax.compatibility=multiplicative
    similarity.softmax.compatibility=additive similarity.softmax.compatibility.additive.hidden= similarity.polynomial.degree=
    similarity.polynomial.alpha= similarity.polynomial.beta= similarity.polynomial_square.degree= similarity.polynomial_square.coefficients=
    similarity.polysketch.degree= similarity.polysketch.sketch= similarity.polysketch.map=random similarity.polysketch.map=learned
    similarity.polysketch.local=sketched similarity.polysketch.local=exact similarity.polysketch.seed= similarity.linear.features=identity
    similarity.linear.features=elu_plus_one similarity.linear.features=relu similarity.linear.features=squared_relu
    similarity.linear.features=taylor1 similarity.linear.features=favor_positive similarity.linear.features=favor_trig
    similarity.linear.features=favor_relu similarity.linear.features=hedgehog similarity.linear.features.relu.eps=
    similarity.linear.features.taylor1.eps= similarity.linear.features.favor_positive.count=
    similarity.linear.features.favor_positive.orthogonal=true similarity.linear.features.favor_positive.orthogonal=false
    similarity.linear.features.favor_positive.seed= similarity.linear.features.favor_trig.count=
    similarity.linear.features.favor_trig.orthogonal=true similarity.linear.features.favor_trig.orthogonal=false
    similarity.linear.features.favor_trig.seed= similarity.linear.features.favor_relu.count= similarity.linear.features.favor_relu.orthogonal=true
    similarity.linear.features.favor_relu.orthogonal=false similarity.linear.features.favor_relu.seed= similarity.linear.features.favor_relu.eps=
    similarity.linear.modify= similarity.custom.weight= block= mask=none mask=causal mask=window mask=block_window mask=prefix mask=global
    mask=random mask=document mask=lengths mask=blocks mask.window.left= mask.window.right= mask.window.dilation= mask.block_window.block=
    mask.block_window.left= mask.block_window.right= mask.prefix.length= mask.global.count= mask.global.tokens= mask.random.block= mask.random.count=
    mask.random.seed= mask.random.causal=true mask.random.causal=false mask.blocks.block= mask.blocks.count= mask.expr= mask.any= mask.all= mask.not=
    normalize=sum normalize=none normalize.sum_plus= normalize.sink= decay.log= delta.rate= dropout= seed= project=linformer project.linformer.size=
    shape.head_dim= shape.value_dim= shape.values=given shape.values=keys shape.max_length= dtype=f32 dtype=bf16 dtype=f16 dtype=f64 storage.k=f16
    storage.k=bf16 storage.k=fp8 storage.k=i8 storage.k=i8_32 storage.k=i8_64 storage.k=q8_0 storage.k=q4_0 storage.v=f16 storage.v=bf16
    storage.v=fp8 storage.v=i8 storage.v=i8_32 storage.v=i8_64 storage.v=q8_0 storage.v=q4_0 algorithm=auto algorithm=quadratic algorithm=linear
    emit= arrays= schedule.tile_q= schedule.tile_k= schedule.chunk= schedule.part= schedule.rows= schedule.vectors= schedule.unroll=
    schedule.crossover= schedule.together= schedule.faded= schedule.units= schedule.backward.tile_q= schedule.backward.tile_k=
    schedule.backward.chunk= schedule.backward.part= schedule.backward.rows= schedule.backward.vectors= schedule.backward.unroll=
    schedule.backward.faded= schedule.backward.units= schedule.backward.sweep=)

# Offers the words that begin with $cur; bash splits words at an =.
_attnc_offer()
{
    local word
    for word; do
        if [[ $word == "$cur"* ]]; then COMPREPLY+=("$lead${word:skip}"); fi
    done
}

_attnc_list()
{
    local before=${cur%"${cur##*,}"}
    _attnc_offer "${@/#/$before}"
}

_attnc_files() # OPTION… of compgen
{
    local -a files
    mapfile -t files < <(compgen "$@" -- "$cur")
    compopt -o filenames 2>/dev/null
    _attnc_offer "${files[@]}"
}

_attnc()
{
    local line=${COMP_LINE:0:COMP_POINT} cur prev command= lead= skip part=${COMP_WORDS[COMP_CWORD]}
    local -a words
    COMPREPLY=()
    read -ra words <<<"$line"
    if [[ $line == *[[:space:]] ]]; then words+=(''); fi
    cur=${words[-1]} prev=${words[-2]-}
    if ((${#words[@]} > 2)); then command=${words[1]}; fi
    if [[ $cur == --*=* ]]; then prev=${cur%%=*} cur=${cur#*=}; fi
    if [[ $part == = ]]; then part=; fi
    skip=$((${#cur} - ${#part}))
    if ((skip < 0)); then lead=${part%"$cur"} skip=0; fi
    case $prev in
    -o) _attnc_files -d; return ;;
    --emit) compopt -o nospace 2>/dev/null; _attnc_list c h graph loops dot json py; return ;;
    --target) compopt -o nospace 2>/dev/null; _attnc_list native x86-64-v4 x86-64-v3 x86-64-v2 aarch64 generic; return ;;
    --set) compopt -o nospace 2>/dev/null; _attnc_offer "${_attnc_keys[@]}"; return ;;
    -MF) _attnc_files -f; return ;;
    -MT) return ;;
    --dump-after) _attnc_offer simplify prefix_sums separate correct_values differentiate stabilise strength_reduce stored_rows fold_scale few_queries heads_as_queries tile lower expose_state row_factors residues bf16_pairs matrix_states needed_pairs pack same_tiles bound block_queries feature_parts fuse kept_rows cancel computed_subscripts masked_maps allocate rows_ahead carried faded decayed resume one_thread register_block; return ;;
    --in) _attnc_files -d; return ;;
    --out) _attnc_files -d; return ;;
    --chunks) return ;;
    --threads) return ;;
    --seed) return ;;
    --lengths) return ;;
    --document) return ;;
    --shape) return ;;
    --trials) return ;;
    --knobs) return ;;
    --samples) return ;;
    --report) _attnc_files -f; return ;;
    --heads) return ;;
    --batch) return ;;
    --ranks) return ;;
    --link) return ;;
    --time) return ;;
    --limit) return ;;
    --picture) _attnc_files -f; return ;;
    --plot) _attnc_files -f; return ;;
    --color) _attnc_offer auto always never; return ;;
    esac
    case $command in
    explain)
        if [[ $cur == -* ]]; then _attnc_offer --emit --target --set --tuned --standalone --no-remainders --dump-after --threads --lengths --document --heads --ranks --link --backward --json --quiet --color --version --help
        else
            _attnc_files -f -X '!*.yaml'
            _attnc_files -d
        fi ;;
    build)
        if [[ $cur == -* ]]; then _attnc_offer --target --set --tuned --standalone --no-remainders --dump-after --json --quiet --color --version --help
        else
            _attnc_files -f -X '!*.yaml'
            _attnc_files -d
        fi ;;
    run)
        if [[ $cur == -* ]]; then _attnc_offer --target --set --tuned --standalone --no-remainders --dump-after --in --out --chunks --threads --seed --backward --quiet --color --version --help
        else
            _attnc_files -f -X '!*.yaml'
            _attnc_files -d
        fi ;;
    check)
        if [[ $cur == -* ]]; then _attnc_offer --target --set --tuned --standalone --no-remainders --dump-after --threads --seed --lengths --heads --backward --json --verbose --quiet --color --version --help
        else
            _attnc_files -f -X '!*.yaml'
            _attnc_files -d
        fi ;;
    bench)
        if [[ $cur == -* ]]; then _attnc_offer --target --set --tuned --standalone --no-remainders --dump-after --threads --seed --lengths --document --heads --batch --backward --decode --time --limit --json --plot --quiet --color --version --help
        else
            _attnc_files -f -X '!*.yaml'
            _attnc_files -d
        fi ;;
    tune)
        if [[ $cur == -* ]]; then _attnc_offer --target --set --tuned --standalone --no-remainders --dump-after --threads --seed --document --shape --trials --knobs --samples --report --backward --time --limit --json --quiet --color --version --help
        else
            _attnc_files -f -X '!*.yaml'
            _attnc_files -d
        fi ;;
    list)
        if [[ $cur == -* ]]; then _attnc_offer --json --quiet --color --version --help
        fi ;;
    show)
        if [[ $cur == -* ]]; then _attnc_offer --picture --quiet --color --version --help
        else _attnc_offer $(command "${words[0]}" list 2>/dev/null | sed -n 's/^  \([^ ]*\).*/\1/p')
        fi ;;
    help)
        if [[ $cur == -* ]]; then _attnc_offer
        fi ;;
    version)
        if [[ $cur == -* ]]; then _attnc_offer
        fi ;;
    *)
        if [[ $cur == -* ]]; then _attnc_offer -o --stdout --emit --target --set --tuned --standalone --no-remainders -MD -MF -MT --outputs --passes --dump-after --backward --quiet --color --version --help
        else
            if ((${#words[@]} == 2)); then _attnc_offer explain build run check bench tune list show help version; fi
            _attnc_files -f -X '!*.yaml'
            _attnc_files -d
        fi ;;
    esac
}

complete -F _attnc attnc
