"""Lay trained checkpoints out for models/: layout.py TRAINED OUT NAME STEP,STEP,… The last goes to the top, all to checkpoints/ where there are several."""
import json, os, shutil, sys
src, out, name, steps = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4].split(',')
tok = json.load(open(os.path.join(os.path.dirname(__file__), 'tokenizer.json')))
B = {'SpecialToken': {'id': '<|endoftext|>', 'type_id': 0}}; A = lambda x, t: {'Sequence': {'id': x, 'type_id': t}}
tok['post_processor'] = {'type': 'TemplateProcessing', 'single': [B, A('A', 0)], 'pair': [B, A('A', 0), B, A('B', 1)], 'special_tokens': {'<|endoftext|>': {'id': '<|endoftext|>', 'ids': [0], 'tokens': ['<|endoftext|>']}}}
dst = os.path.join(out, name); shutil.rmtree(dst, ignore_errors=True); os.makedirs(dst)
for s, d in [(steps[-1], dst)] + ([(s, os.path.join(dst, 'checkpoints', f'step{s}')) for s in steps] if len(steps) > 1 else []):
    os.makedirs(d, exist_ok=True)
    shutil.copy(f'{src}/step{s}/model.safetensors', d); shutil.copy(f'{src}/config.json', d)
    json.dump(tok, open(f'{d}/tokenizer.json', 'w'), ensure_ascii=False)
    json.dump({'tokenizer_class': 'PreTrainedTokenizerFast', 'bos_token': '<|endoftext|>', 'eos_token': '<|endoftext|>', 'add_bos_token': True, 'model_max_length': 256, 'clean_up_tokenization_spaces': False}, open(f'{d}/tokenizer_config.json', 'w'), indent=1)
shutil.copy(f'{src}/training.csv', dst)
