"""Chat templates of real checkpoints, and where each is to be found.

They are data that come with checkpoints under Apache-2.0. `golden` strings in test_architectures.py
say what they make of a message.
"""

from __future__ import annotations

# Qwen/Qwen2-VL-7B-Instruct, chat_template.json; the same string stands in tokenizer_config.json.
QWEN2_VL = (
    "{% set image_count = namespace(value=0) %}{% set video_count = namespace(value=0) %}"
    "{% for message in messages %}{% if loop.first and message['role'] != 'system' %}"
    "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n{% endif %}"
    "<|im_start|>{{ message['role'] }}\n"
    "{% if message['content'] is string %}{{ message['content'] }}<|im_end|>\n"
    "{% else %}{% for content in message['content'] %}"
    "{% if content['type'] == 'image' or 'image' in content or 'image_url' in content %}"
    "{% set image_count.value = image_count.value + 1 %}"
    "{% if add_vision_id %}Picture {{ image_count.value }}: {% endif %}"
    "<|vision_start|><|image_pad|><|vision_end|>"
    "{% elif content['type'] == 'video' or 'video' in content %}"
    "{% set video_count.value = video_count.value + 1 %}"
    "{% if add_vision_id %}Video {{ video_count.value }}: {% endif %}"
    "<|vision_start|><|video_pad|><|vision_end|>"
    "{% elif 'text' in content %}{{ content['text'] }}{% endif %}{% endfor %}<|im_end|>\n"
    "{% endif %}{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


# Qwen/Qwen3-VL-8B-Instruct, chat_template.json, without its branches for tools and their answers.
QWEN3_VL = """{%- if messages[0].role == 'system' %}
    {{- '<|im_start|>system\\n' }}
    {%- if messages[0].content is string %}
        {{- messages[0].content }}
    {%- else %}
        {%- for content in messages[0].content %}
            {%- if 'text' in content %}
                {{- content.text }}
            {%- endif %}
        {%- endfor %}
    {%- endif %}
    {{- '<|im_end|>\\n' }}
{%- endif %}
{%- set image_count = namespace(value=0) %}
{%- set video_count = namespace(value=0) %}
{%- for message in messages %}
    {%- if message.role == "user" %}
        {{- '<|im_start|>' + message.role + '\\n' }}
        {%- if message.content is string %}
            {{- message.content }}
        {%- else %}
            {%- for content in message.content %}
                {%- if content.type == 'image' or 'image' in content or 'image_url' in content %}
                    {%- set image_count.value = image_count.value + 1 %}
                    {%- if add_vision_id %}Picture {{ image_count.value }}: {% endif -%}
                    <|vision_start|><|image_pad|><|vision_end|>
                {%- elif content.type == 'video' or 'video' in content %}
                    {%- set video_count.value = video_count.value + 1 %}
                    {%- if add_vision_id %}Video {{ video_count.value }}: {% endif -%}
                    <|vision_start|><|video_pad|><|vision_end|>
                {%- elif 'text' in content %}
                    {{- content.text }}
                {%- endif %}
            {%- endfor %}
        {%- endif %}
        {{- '<|im_end|>\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
"""

# huggingface/transformers, llava_onevision/convert_llava_onevision_weights_to_hf.py, which wrote
# llava-hf/llava-onevision-qwen2-7b-ov-hf.
LLAVA_ONEVISION = (
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n'}}"
    "{# Render all images first #}"
    "{% for content in message['content'] | selectattr('type', 'equalto', 'image') %}"
    "{{ '<image>\n' }}{% endfor %}"
    "{# Render all video then #}"
    "{% for content in message['content'] | selectattr('type', 'equalto', 'video') %}"
    "{{ '<video>\n' }}{% endfor %}"
    "{# Render all text next #}{% if message['role'] != 'assistant' %}"
    "{% for content in message['content'] | selectattr('type', 'equalto', 'text') %}"
    "{{ content['text'] }}{% endfor %}{% else %}"
    "{% for content in message['content'] | selectattr('type', 'equalto', 'text') %}"
    "{% generation %}{{ content['text'] }}{% endgeneration %}{% endfor %}{% endif %}"
    "{{'<|im_end|>' + '\n'}}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)

# huggingface/transformers, llava_next_video/convert_llava_next_video_weights_to_hf.py (vicuna);
# llava-hf/LLaVA-NeXT-Video-7B-hf has the loop over videos beside it.
LLAVA_NEXT_VIDEO = (
    "{% for message in messages %}"
    "{% if message['role'] == 'system' %}{{ message['content'][0]['text'] }}"
    "{% else %}{{ message['role'].upper() + ': '}}{% endif %}"
    "{# Render all images first #}"
    "{% for content in message['content'] | selectattr('type', 'equalto', 'image') %}"
    "{{ '<image>\n' }}{% endfor %}"
    "{# Render all video then #}"
    "{% for content in message['content'] | selectattr('type', 'equalto', 'video') %}"
    "{{ '<video>\n' }}{% endfor %}"
    "{# Render all text next #}"
    "{% for content in message['content'] | selectattr('type', 'equalto', 'text') %}"
    "{{ content['text'] + ' '}}{% endfor %}{% endfor %}"
    "{% if add_generation_prompt %}{{ 'ASSISTANT:' }}{% endif %}"
)

# The prompt of LanguageBind/Video-LLaVA-7B-hf is that of Vicuna, as the documentation of
# transformers writes it out: `USER: <video>\nWhy is this video funny? ASSISTANT:`.
VIDEO_LLAVA = LLAVA_NEXT_VIDEO

# huggingface/transformers, internvl/convert_internvl_weights_to_hf.py, which wrote
# OpenGVLab/InternVL3-8B-hf.
INTERNVL = (
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n'}}"
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}"
    "{% for content in message['content'] %}"
    "{% if content['type'] == 'image' %}{{ '<image>\n' }}"
    "{% elif content['type'] == 'video' %}{{ '<video>\n' }}"
    "{% elif content['type'] == 'text' %}{{ content['text'] }}{% endif %}"
    "{% endfor %}{% endif %}{{'<|im_end|>\n'}}{% endfor %}"
    "{% if add_generation_prompt %}{{'<|im_start|>assistant\n' }}{% endif %}"
)

# HuggingFaceTB/SmolVLM2-2.2B-Instruct. For a chat with a video transformers puts its own in the
# place of this one (smolvlm/processing_smolvlm.py, DEFAULT_CHAT_TEMPLATE).
SMOLVLM = (
    "<|im_start|>{% for message in messages %}{{message['role'] | capitalize}}"
    "{% if message['content'][0]['type'] == 'image' %}{{':'}}{% else %}{{': '}}{% endif %}"
    "{% for line in message['content'] %}{% if line['type'] == 'text' %}{{line['text']}}"
    "{% elif line['type'] == 'image' %}{{ '<image>' }}{% endif %}{% endfor %}<end_of_utterance>\n"
    "{% endfor %}{% if add_generation_prompt %}{{ 'Assistant:' }}{% endif %}"
)

# The prompt of lkhl/VideoLLaMA3-2B-Image-HF is ChatML with a line for the video, as vLLM's tests of
# that checkpoint write it out: `<|im_start|>user\n<|video_pad|>\nDescribe.<|im_end|>\n`.
VIDEO_LLAMA_3 = (
    "{% for message in messages %}{{- '<|im_start|>' + message['role'] + '\n' -}}"
    "{% for content in message['content'] %}"
    "{% if content['type'] == 'text' or 'text' in content %}{{- content['text'] -}}"
    "{% elif content['type'] == 'image' or 'image' in content %}{{- '<|image_pad|>\n' -}}"
    "{% elif content['type'] == 'video' or 'video' in content %}{{- '<|video_pad|>\n' -}}"
    "{% endif %}{% endfor %}{{- '<|im_end|>\n' -}}{% endfor %}"
    "{% if add_generation_prompt %}{{- '<|im_start|>assistant\n' -}}{% endif %}"
)

TEMPLATES = {
    "qwen2_vl": QWEN2_VL,
    "qwen2_5_vl": QWEN2_VL,  # Qwen/Qwen2.5-VL-7B-Instruct has the same
    "qwen3_vl": QWEN3_VL,
    "llava_onevision": LLAVA_ONEVISION,
    "llava_next_video": LLAVA_NEXT_VIDEO,
    "video_llava": VIDEO_LLAVA,
    "internvl": INTERNVL,
    "smolvlm": SMOLVLM,
    "video_llama_3": VIDEO_LLAMA_3,
}
