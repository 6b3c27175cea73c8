"""A stand-in for a model, without a server: it answers from a list, with loose ends if it is warm."""

import fastmetrics as fm

ANSWERS = {
    "What is AI?": "AI is artificial intelligence that simulates human thinking.",
    "Explain machine learning.": (
        "Machine learning is a subset of artificial intelligence that enables computers to learn from data."
    ),
    "Explain the concept of artificial intelligence and describe its applications.": (
        "Artificial intelligence is the simulation of human intelligence in machines. "
        "Its applications include machine learning, natural language processing, and computer vision. "
        "In conclusion, artificial intelligence will continue to shape our future."
    ),
    "Compare cats and dogs as pets.": (
        "Cats are independent pets. However, dogs need walks and company. Therefore, cats suit busy people better."
    ),
    "Describe how rain forms.": "Rain forms when water vapour cools. Then drops grow, and therefore they fall.",
    "Why do leaves change colour in autumn?": (
        "Leaves lose their green chlorophyll in autumn. As a result, yellow and red colours appear."
    ),
}
LOOSE = " The weather is nice. Pizza is food. They said so. Cars are vehicles."


@fm.models.model_client("stub")
def reply(request):
    """The answer of the list, with loose ends from a temperature of 1 on."""
    answer = ANSWERS[request.messages[-1].content.strip()]
    return answer + LOOSE if request.parameters["temperature"] >= 1 else answer
